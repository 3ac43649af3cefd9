#pragma once
// A fitted regression of a table in one file: safetensors with metadata, versioned and checksummed.
// docs/formats/model.md has the whole of it.

#include <iosfwd>
#include <optional>
#include <string>

#include "headspan/estimator/encoding.h"
#include "headspan/estimator/model.h"

namespace headspan::estimator {

/// Version of the file format that save_model() writes and the newest that load_model() reads.
inline constexpr int kModelFileVersion = 3;

/// A model with what it needs to take tables of words and numbers.
struct TableModel {
  std::string target;                 ///< name of the column that is predicted
  std::optional<std::string> weight;  ///< name of the column that counted rows
  Encoding encoding;
  Model model;
  std::string written_by;  ///< program and version, for people
};

/// Writes the file's bytes, which depend on the model alone. Throws ArgumentError for a model whose encoding
/// gives another number of inputs.
void write_model(std::ostream& out, const TableModel& model);

/// The same to `path`, by replace_file(): whole or not at all. Throws OutputError too.
void save_model(const std::string& path, const TableModel& model);

/// Predictions of what is read are those of what was written, to the bit. Nothing in a file is run, and no
/// file makes it read outside its own arrays. Throws CheckpointError: no model, truncated, malformed
/// (damaged, or numbers that contradict each other), unsupported (a newer format). O(size of the file) in
/// time and memory.
TableModel load_model(const std::string& path);

}  // namespace headspan::estimator
