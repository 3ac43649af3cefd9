#include "checkpoint/formats/safetensors_index.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "headspan/checkpoint/container.h"
#include "headspan/numeric/io.h"
#include "headspan/numeric/json.h"

namespace headspan::checkpoint {
namespace {

using Json = nlohmann::json;

// A large real index has under 10 MB.
constexpr std::uint64_t kMaxIndexBytes = 256'000'000;

[[noreturn]] void malformed(const std::string& path, const std::string& item, const std::string& reason) {
  throw CheckpointError(FileFault::malformed, {path, item, {}}, reason);
}

Json parse(const std::string& path) {
  const std::string text = read_text(path, kMaxIndexBytes);
  if (text.rfind("version https://git-lfs", 0) == 0)
    malformed(path, {},
              "it is a git-LFS pointer, not the index; run git lfs pull, or download the file itself");
  if (!text.empty() && text[text.find_first_not_of(" \t\r\n") % text.size()] == '<')
    malformed(path, {}, "it is HTML, probably a saved error or log-in page; download the file itself");
  return parse_json(text, path);
}

// The index is data from elsewhere: it may name its neighbours and nothing else on this machine.
void check_shard_name(const std::string& path, const std::string& tensor, const std::string& shard) {
  if (shard.empty() || shard == "." || shard == ".." || shard.find_first_of("/\\") != std::string::npos ||
      shard.find('\0') != std::string::npos)
    throw CheckpointError(
        FileFault::refused, {path, tensor, {}},
        fmt::format("its shard \"{}\" is not a plain file name; shards must lie beside the index", shard));
  if (shard.size() > 4 && (shard.ends_with(".bin") || shard.ends_with(".pt") || shard.ends_with(".pth")))
    throw CheckpointError(
        FileFault::unsupported, {path, tensor, {}},
        fmt::format("its shard \"{}\" is a PyTorch pickle by its name; convert the model with "
                    "save_pretrained(..., safe_serialization=True)",
                    shard));
}

SafetensorsIndex interpret(const std::string& path, const Json& document) {
  if (!document.is_object() || !document.contains("weight_map") || !document["weight_map"].is_object())
    malformed(path, {}, "it has no \"weight_map\", so it is not the index of a checkpoint; name the weights");
  SafetensorsIndex index;
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : document["weight_map"].items()) {
    if (!shard.is_string()) malformed(path, tensor, "the name of its shard is not text; get another copy");
    const auto name = shard.get<std::string>();
    check_shard_name(path, tensor, name);
    index.weight_map.emplace(tensor, name);
    shards.insert(name);
  }
  if (shards.empty()) malformed(path, {}, "its \"weight_map\" names no tensors; get another copy");
  index.shards.assign(shards.begin(), shards.end());
  const auto metadata = document.find("metadata");
  if (metadata != document.end() && metadata->is_object()) {
    const auto total = metadata->find("total_size");
    if (total != metadata->end() && total->is_number()) index.total_size = total->get<double>();
  }
  return index;
}

}  // namespace

SafetensorsIndex read_safetensors_index(const std::string& path) {
  try {
    return interpret(path, parse(path));
  } catch (const CheckpointError&) {
    throw;
  } catch (const FileError& error) {
    throw CheckpointError(error.fault(), error.place(), error.reason());
  }
}

std::vector<std::string> missing_shards(const SafetensorsIndex& index, const std::string& folder) {
  std::vector<std::string> missing;
  std::error_code ignored;
  for (const std::string& shard : index.shards)
    if (!std::filesystem::exists(std::filesystem::path(folder) / shard, ignored)) missing.push_back(shard);
  return missing;
}

}  // namespace headspan::checkpoint
