#pragma once
// The header of one safetensors file: names, types, shapes and byte ranges, all checked against each other.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "headspan/checkpoint/container.h"
#include "headspan/numeric/io.h"

namespace headspan::checkpoint {

/// Longest header the format allows, bytes.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  ///< in the order of their bytes; `file` is 0
  std::map<std::string, std::string> metadata;
};

/// Reads and checks the header: the byte ranges follow each other without gap or overlap from the end of the
/// header to the end of the file, and each has the size that its shape and type say. A type of unknown name
/// has no size to check. Throws CheckpointError.
SafetensorsHeader read_safetensors_header(const InputFile& file);

}  // namespace headspan::checkpoint
