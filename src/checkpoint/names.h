#pragma once
// Tensor names against layout rows: which attention layers a file holds, under which prefixes.

#include <map>
#include <string>
#include <vector>

#include "headspan/checkpoint/container.h"
#include "headspan/checkpoint/layout.h"

namespace headspan::checkpoint {

/// One kind of attention under one prefix.
struct StackNames {
  const AttentionNames* names = nullptr;
  std::string prefix;                 ///< before the layer's own name, as in the file: "module.model."
  std::string label;                  ///< name of the stack, distinct among those of one kind of attention
  std::map<int, std::string> layers;  ///< layer number -> full name up to the projection: "model.layers.3."
};

/// Which prefixes may stand before a layer's name.
enum class Prefixes {
  known,  ///< only those made of the general prefixes and the row's own
  any,    ///< any path without an all-digit component
};

/// The stacks of `layout` in the file, empty if none of its projections is there. A tensor belongs to the
/// first kind of attention that names it. The result points into `layout`.
std::vector<StackNames> find_stacks(const Layout& layout, const Container& container, Prefixes prefixes);

/// How well a row fits a file.
struct Fit {
  int tensors = 0;        ///< projections found
  int plausible = 0;      ///< of layers whose shapes agree with the row's orientation
  int missing_kinds = 0;  ///< kinds of attention of the row without any layer
};
Fit fit_of(const Layout& layout, const Container& container, const std::vector<StackNames>& stacks);

/// Names of the tensors that look like attention projections and that no stack uses, numbers replaced by "N".
std::vector<std::string> unused_projections(const Container& container,
                                            const std::vector<StackNames>& stacks);

/// Names for a message, the first `limit` of them: "a, b and 3 more".
std::string listed(const std::vector<std::string>& names, std::size_t limit);

/// Why a file has no attention layer for any row: what it holds instead, and what to do.
std::string explain_no_attention(const Container& container);

}  // namespace headspan::checkpoint
