#pragma once
// What of a model is words and structure rather than arrays, as the JSON of a model file's metadata.

#include <string>

#include "headspan/estimator/model_file.h"

namespace headspan::estimator {

/// {"target", "weight", "columns", "decisions", "not_inputs", "inputs"}.
std::string table_json(const TableModel& model);
/// {"ensemble": [estimate ...], "folds": [[estimate ...] ...]}; an estimate is its recipe and its number of
/// heads.
std::string structure_json(const Model& model);

/// The inverse, into `model`. `path` is named in errors: CheckpointError malformed.
void read_table_json(const std::string& text, const std::string& path, TableModel& model);
/// Makes the members, estimates and heads, their arrays empty; not more than `most_heads`, since every head
/// of a file has arrays there, and a number alone must not take memory.
void read_structure_json(const std::string& text, const std::string& path, std::size_t most_heads,
                         Model& model);

}  // namespace headspan::estimator
