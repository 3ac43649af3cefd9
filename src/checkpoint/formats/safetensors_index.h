#pragma once
// The index of a sharded safetensors checkpoint.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headspan::checkpoint {

struct SafetensorsIndex {
  std::map<std::string, std::string> weight_map;  ///< tensor -> file name of its shard
  std::optional<double> total_size;               ///< bytes of all tensors, as written
  std::vector<std::string> shards;                ///< distinct file names, sorted
};

/// Reads and checks an index. Throws CheckpointError: not an index, no tensors, shard names that are not
/// plain file names, the index of PyTorch pickles.
SafetensorsIndex read_safetensors_index(const std::string& path);

/// The shards of `index` that are not in `folder`.
std::vector<std::string> missing_shards(const SafetensorsIndex& index, const std::string& folder);

}  // namespace headspan::checkpoint
