#pragma once
// A layer that the configuration promises and that has no attention under the layout's names.

#include <string>

#include "checkpoint/names.h"
#include "headspan/checkpoint/container.h"

namespace headspan::checkpoint {

/// What the file holds of such a layer.
struct AbsentLayer {
  std::string place;         ///< what names of its tensors start with; empty where the layout has no numbers
  std::string first_tensor;  ///< full name of one of its tensors, empty if there is none
  /// Stored, and without anything of the module that holds the attention of the other layers: a layer of
  /// another kind, as hybrids have. Encoded projections, or a part of them, make an attention layer that
  /// cannot be read instead; so may everything about a file that is one shard of several.
  bool is_other_kind = false;
};

AbsentLayer absent_layer(const Container& container, const StackNames& stack, int layer);

}  // namespace headspan::checkpoint
