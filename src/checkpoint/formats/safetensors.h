#pragma once
// Checkpoints in one safetensors file, or in several tied by an index.

#include <memory>
#include <string>

#include "headspan/checkpoint/container.h"

namespace headspan::checkpoint {

/// One file. `shown` is the path as the user gave it; a `note` that is not empty becomes one of the
/// container's. Throws CheckpointError.
std::unique_ptr<Container> open_safetensors(const std::string& file, const std::string& shown,
                                            const std::string& note);

/// The shards that the index `file` names, which lie beside it. Throws CheckpointError: a shard that is
/// missing, a tensor that is not in the shard the index names, one that is in two shards. Tensors outside the
/// index are kept and noted.
std::unique_ptr<Container> open_safetensors_index(const std::string& file, const std::string& shown);

}  // namespace headspan::checkpoint
