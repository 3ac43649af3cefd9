#pragma once
// JSON texts of a checkpoint: strict, duplicate keys refused, errors in the checkpoint's own terms.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace headspan::checkpoint {

/// Throws CheckpointError malformed naming `path`; HTML and git-LFS pointers are named as what they are.
nlohmann::json parse_strict_json(const std::string& text, const std::string& path);

}  // namespace headspan::checkpoint
