#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "checkpoint/formats/safetensors.h"
#include "checkpoint/formats/safetensors_index.h"
#include "checkpoint/names.h"
#include "headspan/checkpoint/container.h"

namespace headspan::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexSuffix = ".safetensors.index.json";
constexpr std::size_t kNamesShown = 8;

// What a folder holds that could be, or could be mistaken for, weights; names sorted.
struct Folder {
  fs::path path;
  std::vector<std::string> safetensors;
  std::vector<std::string> indexes;
  std::vector<std::string> other_weights;

  bool has(const std::vector<std::string>& names, const std::string& name) const {
    return std::binary_search(names.begin(), names.end(), name);
  }
  std::string full(const std::string& name) const { return (path / name).string(); }
};

bool is_other_weights(const std::string& name) {
  for (const char* suffix : {".bin", ".bin.index.json", ".pt", ".pth", ".ckpt", ".gguf", ".onnx", ".npz",
                             ".h5", ".msgpack", ".nemo", ".tflite"})
    if (name.ends_with(suffix)) return true;
  return false;
}

Folder list(const std::string& path) {
  Folder folder{path, {}, {}, {}};
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    // Dot files are leavings of other programs ("._model.safetensors" of macOS).
    if (name.starts_with('.') || at->is_directory(error)) continue;
    if (name.ends_with(kIndexSuffix))
      folder.indexes.push_back(name);
    else if (name.ends_with(".safetensors"))
      folder.safetensors.push_back(name);
    else if (is_other_weights(name))
      folder.other_weights.push_back(name);
  }
  if (error) throw CheckpointError(FileFault::unreadable, {path, {}, {}}, error.message());
  for (auto* names : {&folder.safetensors, &folder.indexes, &folder.other_weights})
    std::sort(names->begin(), names->end());
  return folder;
}

[[noreturn]] void fail_without_safetensors(const Folder& folder) {
  const std::string path = folder.path.string();
  if (folder.other_weights.empty())
    throw CheckpointError(
        FileFault::missing, {path, {}, {}},
        "the folder holds no *.safetensors and no *.safetensors.index.json; name the weights");
  throw CheckpointError(
      FileFault::unsupported, {path, folder.other_weights.front(), {}},
      fmt::format(
          "the folder holds no *.safetensors, only {}, which are not read; save the model as safetensors",
          listed(folder.other_weights, kNamesShown)));
}

[[noreturn]] void fail_ambiguous(const Folder& folder, const std::vector<std::string>& candidates) {
  const bool are_shards = candidates.front().find("-of-") != std::string::npos;
  throw CheckpointError(
      FileFault::refused, {folder.path.string(), {}, {}},
      fmt::format(
          "{} files could be the model: {}; {}", candidates.size(), listed(candidates, kNamesShown),
          are_shards ? "shards need their *.safetensors.index.json: get it too" : "name one of them"));
}

struct Choice {
  std::string file;
  bool is_index = false;
  std::string note;
};

// model.safetensors and an index, both there: one of them is a leaving of another download.
Choice choose_file_or_index(const Folder& folder, const std::string& file, const std::string& index) {
  const SafetensorsIndex content = read_safetensors_index(folder.full(index));
  if (content.shards == std::vector<std::string>{file}) return {index, true, {}};
  const std::vector<std::string> missing = missing_shards(content, folder.path.string());
  if (missing.empty()) fail_ambiguous(folder, {file, index});
  return {file, false,
          fmt::format("{} is read; {} beside it names {} that {} not there", file, index,
                      listed(missing, kNamesShown), missing.size() == 1 ? "is" : "are")};
}

Choice choose(const Folder& folder) {
  const std::string file = "model.safetensors";
  const std::string index = std::string("model") + kIndexSuffix;
  const bool has_file = folder.has(folder.safetensors, file);
  const bool has_index = folder.has(folder.indexes, index);
  if (has_file && has_index) return choose_file_or_index(folder, file, index);
  if (has_file) return {file, false, {}};
  if (has_index) return {index, true, {}};
  if (folder.indexes.size() == 1) return {folder.indexes.front(), true, {}};
  if (!folder.indexes.empty()) fail_ambiguous(folder, folder.indexes);
  if (folder.safetensors.empty()) fail_without_safetensors(folder);
  if (folder.safetensors.size() > 1) fail_ambiguous(folder, folder.safetensors);
  return {folder.safetensors.front(), false, {}};
}

}  // namespace

std::unique_ptr<Container> open_container(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    return path.ends_with(".index.json") ? open_safetensors_index(path, path)
                                         : open_safetensors(path, path, {});
  const Folder folder = list(path);
  const Choice choice = choose(folder);
  return choice.is_index ? open_safetensors_index(folder.full(choice.file), path)
                         : open_safetensors(folder.full(choice.file), path, choice.note);
}

}  // namespace headspan::checkpoint
