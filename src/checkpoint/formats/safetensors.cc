#include "checkpoint/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/dtype.h"
#include "checkpoint/formats/safetensors_header.h"
#include "checkpoint/formats/safetensors_index.h"
#include "checkpoint/names.h"
#include "headspan/numeric/io.h"
#include "headspan/numeric/widen.h"

namespace headspan::checkpoint {
namespace {

namespace fs = std::filesystem;

// Long enough for disks to stream, short enough to be forgotten beside a layer's matrices.
constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

using Widen = void (*)(const void*, std::size_t, double*);

void copy_f64(const void* in, std::size_t count, double* out) {
  std::memcpy(out, in, count * sizeof(double));
}

Widen widening(const TensorEntry& tensor, const std::string& path) {
  if (tensor.dtype.name == "F64") return copy_f64;
  if (tensor.dtype.name == "F32") return widen_f32;
  if (tensor.dtype.name == "F16") return widen_f16;
  if (tensor.dtype.name == "BF16") return widen_bf16;
  throw CheckpointError(
      FileFault::unsupported, {path, tensor.name, {}},
      fmt::format("its type {} is not read; {} are: dequantise or convert the model and save it "
                  "as BF16",
                  tensor.dtype.name, readable_dtypes()));
}

// Rows and columns of a tensor as read_rows sees it.
std::pair<std::int64_t, std::int64_t> as_matrix(const TensorEntry& tensor) {
  if (tensor.shape.size() < 2) return {1, tensor.elements()};
  std::int64_t columns = 1;
  for (std::size_t i = 1; i < tensor.shape.size(); ++i) columns *= tensor.shape[i];
  return {tensor.shape[0], columns};
}

void require(bool holds, const TensorEntry& tensor, const char* rule) {
  if (!holds)
    throw ArgumentError(fmt::format("read_rows: {} {}: {}", tensor.name, shape_text(tensor.shape), rule));
}

CheckpointError as_checkpoint_error(const FileError& error, const std::string& item) {
  FilePlace place = error.place();
  if (place.item.empty()) place.item = item;
  return {error.fault(), std::move(place), error.reason()};
}

InputFile open_file(const std::string& path) {
  try {
    return InputFile(path);
  } catch (const FileError& error) {
    throw as_checkpoint_error(error, {});
  }
}

class SafetensorsContainer : public Container {
 public:
  explicit SafetensorsContainer(std::string shown) : shown_(std::move(shown)) {}

  const std::string& path() const override { return shown_; }
  std::string format() const override {
    return is_sharded_
               ? fmt::format("safetensors ({} shard{})", inputs_.size(), inputs_.size() == 1 ? "" : "s")
               : "safetensors";
  }
  const std::vector<std::string>& files() const override { return files_; }
  const std::map<std::string, TensorEntry>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  bool is_whole() const override { return is_whole_; }

  void read_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count,
                 MatrixSpan out) const override;

  void add_file(const std::string& path);
  void set_index(const std::string& path) {
    files_.push_back(path);
    is_sharded_ = true;
  }
  void note(std::string text) { notes_.push_back(std::move(text)); }
  void is_one_shard() { is_whole_ = false; }

 private:
  std::string shown_;
  bool is_sharded_ = false;
  bool is_whole_ = true;
  std::vector<std::string> files_;
  std::vector<InputFile> inputs_;  // inputs_[i] is open on files_[i]
  std::map<std::string, TensorEntry> tensors_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::string> notes_;
};

void SafetensorsContainer::add_file(const std::string& path) {
  InputFile input = open_file(path);
  SafetensorsHeader header = read_safetensors_header(input);
  for (TensorEntry& entry : header.tensors) {
    entry.file = static_cast<int>(files_.size());
    const auto [place, is_new] = tensors_.emplace(entry.name, entry);
    if (!is_new)
      throw CheckpointError(
          FileFault::refused, {path, entry.name, entry.offset},
          fmt::format("it is in {} too, and the two need not be equal; get shards and index of one revision",
                      fs::path(files_[static_cast<std::size_t>(place->second.file)]).filename().string()));
  }
  metadata_.merge(header.metadata);
  files_.push_back(path);
  inputs_.push_back(std::move(input));
}

void SafetensorsContainer::read_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count,
                                     MatrixSpan out) const {
  require(tensor.file >= 0 && static_cast<std::size_t>(tensor.file) < inputs_.size(), tensor,
          "it is a tensor of another container");
  const InputFile& input = inputs_[static_cast<std::size_t>(tensor.file)];
  const Widen widen = widening(tensor, input.path());
  const auto [rows, columns] = as_matrix(tensor);
  const bool is_vector = tensor.shape.size() < 2;
  const std::int64_t unit = is_vector ? 1 : columns;  // elements that `first` and `count` count
  const std::int64_t limit = is_vector ? columns : rows;
  require(first >= 0 && count >= 0 && first <= limit && count <= limit - first, tensor,
          "rows outside the tensor");
  require(is_vector ? out.rows() == 1 && out.cols() == count : out.rows() == count && out.cols() == columns,
          tensor, "the output has another size than the rows asked for");

  const auto element_bytes = static_cast<std::size_t>(tensor.dtype.bits / 8);
  const std::int64_t wanted = count * unit;
  const std::int64_t chunk = std::min(wanted, static_cast<std::int64_t>(kBufferBytes / element_bytes));
  const auto buffer =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(chunk) * element_bytes);
  std::uint64_t offset = tensor.offset + static_cast<std::uint64_t>(first * unit) * element_bytes;
  const std::int64_t width = out.cols();
  for (std::int64_t done = 0; done < wanted; done += chunk) {
    const std::int64_t now = std::min(chunk, wanted - done);
    try {
      input.read(offset, buffer.get(), static_cast<std::size_t>(now) * element_bytes);
    } catch (const FileError& error) {
      throw as_checkpoint_error(error, tensor.name);
    }
    offset += static_cast<std::uint64_t>(now) * element_bytes;
    // Rows of `out` may lie further apart than they are wide, so widen what falls into each.
    for (std::int64_t at = 0; at < now;) {
      const std::int64_t row = (done + at) / width;
      const std::int64_t column = (done + at) % width;
      const std::int64_t run = std::min(now - at, width - column);
      widen(buffer.get() + static_cast<std::size_t>(at) * element_bytes, static_cast<std::size_t>(run),
            &out(row, column));
      at += run;
    }
  }
}

// How many parts there are by a name such as "model-00001-of-00003.safetensors"; 1 for any other name.
int shard_count(const std::string& name) {
  constexpr std::string_view kOf = "-of-";
  constexpr std::string_view kExtension = ".safetensors";
  const std::size_t of = name.rfind(kOf);
  if (of == std::string::npos || of == 0 || !name.ends_with(kExtension)) return 1;
  if (std::isdigit(static_cast<unsigned char>(name[of - 1])) == 0) return 1;
  int count = 1;
  const char* end = name.data() + name.size() - kExtension.size();
  const auto parsed = std::from_chars(name.data() + of + kOf.size(), end, count);
  return parsed.ec == std::errc() && parsed.ptr == end ? count : 1;
}

void note_lone_shard(SafetensorsContainer& container, const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  const int count = shard_count(name);
  if (count <= 1) return;
  container.is_one_shard();
  container.note(fmt::format("{} is one shard of {} by its name; the others are not read", name, count));
}

void check_against_index(SafetensorsContainer& container, const SafetensorsIndex& index,
                         const std::string& path) {
  for (const auto& [name, shard] : index.weight_map) {
    const TensorEntry* entry = container.find(name);
    const std::string place =
        entry == nullptr
            ? ""
            : fs::path(container.files()[static_cast<std::size_t>(entry->file)]).filename().string();
    if (place == shard) continue;
    throw CheckpointError(
        FileFault::refused, {path, name, {}},
        fmt::format(
            "the index says it is in {}, but it is in {}: index and shards are not of one revision; get both "
            "again",
            shard, place.empty() ? "no shard" : place));
  }
}

void note_index_oddities(SafetensorsContainer& container, const SafetensorsIndex& index) {
  std::vector<std::string> outside;
  double bytes = 0.0;
  for (const auto& [name, entry] : container.tensors()) {
    if (index.weight_map.contains(name))
      bytes += static_cast<double>(entry.bytes);
    else
      outside.push_back(name);
  }
  if (!outside.empty())
    container.note(fmt::format("{} tensor{} in the shards but not in the index, read all the same: {}",
                               outside.size(), outside.size() == 1 ? " is" : "s are", listed(outside, 3)));
  if (index.total_size && *index.total_size != bytes)
    container.note(fmt::format("the index gives a total size of {:.0f} bytes, its tensors have {:.0f}",
                               *index.total_size, bytes));
}

[[noreturn]] void fail_missing(const std::vector<std::string>& missing, const SafetensorsIndex& index,
                               const std::string& path) {
  std::vector<std::string> others;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(fs::absolute(path).parent_path(), ignored)) {
    const std::string name = file.path().filename().string();
    if (name.ends_with(".safetensors") && !std::binary_search(index.shards.begin(), index.shards.end(), name))
      others.push_back(name);
  }
  std::sort(others.begin(), others.end());
  std::string reason =
      fmt::format("{} of the {} shards that the index names {} not there: {}", missing.size(),
                  index.shards.size(), missing.size() == 1 ? "is" : "are", listed(missing, 5));
  if (!others.empty())
    reason += fmt::format("; the folder holds {}, which it does not name", listed(others, 5));
  throw CheckpointError(FileFault::missing, {path, missing.front(), {}},
                        reason + "; get index and shards of one revision");
}

}  // namespace

std::unique_ptr<Container> open_safetensors(const std::string& file, const std::string& shown,
                                            const std::string& note) {
  auto container = std::make_unique<SafetensorsContainer>(shown);
  container->add_file(file);
  note_lone_shard(*container, file);
  if (!note.empty()) container->note(note);
  return container;
}

std::unique_ptr<Container> open_safetensors_index(const std::string& file, const std::string& shown) {
  const SafetensorsIndex index = read_safetensors_index(file);
  const fs::path folder = fs::path(file).parent_path();
  const std::vector<std::string> missing = missing_shards(index, folder.string());
  if (!missing.empty()) fail_missing(missing, index, file);
  auto container = std::make_unique<SafetensorsContainer>(shown);
  for (const std::string& shard : index.shards) container->add_file((folder / shard).string());
  container->set_index(file);
  check_against_index(*container, index, file);
  note_index_oddities(*container, index);
  return container;
}

}  // namespace headspan::checkpoint
