#pragma once
// Which layout row describes a file.

#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/names.h"

namespace headspan::checkpoint {

struct LayoutChoice {
  Layout layout;
  Prefixes prefixes = Prefixes::known;
  std::vector<std::string> notes;  ///< how it was chosen, where that is not by model_type
};

/// A forced row; else the user's rows; else the rows of the configuration's model_type whose conditions hold;
/// else the row whose names and orientation fit most projections. Throws ArgumentError for an unknown forced
/// name and CheckpointError where no row names an attention layer of the file.
LayoutChoice choose_layout(const Container& container, const ModelOptions& options, const Config& config);

}  // namespace headspan::checkpoint
