#include "checkpoint/formats/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "checkpoint/dtype.h"
#include "checkpoint/sniff.h"
#include "headspan/numeric/json.h"

namespace headspan::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;

// Parses one header; the members are what every message needs.
class HeaderReader {
 public:
  explicit HeaderReader(const InputFile& file) : file_(file) {}

  SafetensorsHeader read() {
    refuse_other_formats(file_);
    const Json document = parse();
    SafetensorsHeader header;
    for (const auto& [name, value] : document.items()) {
      if (name == "__metadata__")
        header.metadata = metadata(value);
      else
        header.tensors.push_back(tensor(name, value));
    }
    check_ranges(header.tensors);
    for (TensorEntry& entry : header.tensors) entry.offset += data_start_;
    return header;
  }

 private:
  [[noreturn]] void fail(FileFault fault, const std::string& item, std::optional<std::uint64_t> offset,
                         const std::string& reason) const {
    throw CheckpointError(fault, {file_.path(), item, offset}, reason);
  }
  [[noreturn]] void malformed(const std::string& name, const std::string& reason) const {
    fail(FileFault::malformed, name, {}, reason + "; the file was written wrongly, get another copy");
  }

  Json parse() {
    unsigned char length_bytes[kLengthBytes];
    file_.read(0, length_bytes, kLengthBytes);
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::uint64_t{length_bytes[i]} << (8 * i);
    if (length > kMaxHeaderBytes)
      fail(FileFault::malformed, {}, 0,
           fmt::format(
               "the header would have {} bytes and the format allows {}: not safetensors, or damaged; get "
               "another copy",
               length, kMaxHeaderBytes));
    if (length == 0) fail(FileFault::malformed, {}, 0, "the header has no bytes; get another copy");
    if (length > file_.size() - kLengthBytes)
      fail(FileFault::truncated, {}, file_.size(),
           fmt::format(
               "the header has {} bytes and the file ends in it, an interrupted download; fetch it again",
               length));
    data_start_ = kLengthBytes + length;
    std::string text(static_cast<std::size_t>(length), '\0');
    file_.read(kLengthBytes, text.data(), text.size());
    if (text[0] != '{')
      fail(FileFault::malformed, {}, kLengthBytes,
           "the header does not start with '{': not safetensors, or damaged; get another copy");
    return parse_json(text, file_.path(), kLengthBytes);
  }

  std::map<std::string, std::string> metadata(const Json& value) const {
    std::map<std::string, std::string> result;
    if (value.is_null()) return result;
    if (!value.is_object()) malformed("__metadata__", "it must be an object of texts");
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string())
        malformed("__metadata__",
                  fmt::format("the value of \"{}\" is not text, which the format asks for", key));
      result.emplace(key, text.get<std::string>());
    }
    return result;
  }

  const Json& member(const std::string& name, const Json& value, const char* key) const {
    const auto found = value.find(key);
    if (found == value.end()) malformed(name, fmt::format("it has no \"{}\"", key));
    return *found;
  }

  std::uint64_t whole_number(const std::string& name, const Json& value, const char* key) const {
    // The JSON parser keeps whole numbers that fit exactly; -0, fractions and larger ones arrive as other
    // types.
    if (!value.is_number_unsigned())
      malformed(name, fmt::format("\"{}\" holds {}, not a whole number of at most 64 bits", key,
                                  value.is_number() ? value.dump() : value.type_name()));
    return value.get<std::uint64_t>();
  }

  TensorEntry tensor(const std::string& name, const Json& value) const {
    if (!value.is_object()) malformed(name, "it must be an object with dtype, shape and data_offsets");
    const Json& dtype = member(name, value, "dtype");
    if (!dtype.is_string()) malformed(name, "\"dtype\" is not text");
    const Json& offsets = member(name, value, "data_offsets");
    if (!offsets.is_array() || offsets.size() != 2)
      malformed(name, "\"data_offsets\" is not a pair of whole numbers");
    TensorEntry entry;
    entry.name = name;
    entry.dtype = dtype_named(dtype.get<std::string>());
    entry.shape = shape(name, member(name, value, "shape"));
    const std::uint64_t begin = whole_number(name, offsets[0], "data_offsets");
    const std::uint64_t end = whole_number(name, offsets[1], "data_offsets");
    if (end < begin) malformed(name, fmt::format("its data_offsets [{}, {}] are reversed", begin, end));
    entry.offset = begin;
    entry.bytes = end - begin;
    check_size(entry);
    return entry;
  }

  std::vector<std::int64_t> shape(const std::string& name, const Json& value) const {
    if (!value.is_array()) malformed(name, "\"shape\" is not a list of whole numbers");
    std::vector<std::int64_t> result;
    for (const Json& axis : value) {
      const std::uint64_t length = whole_number(name, axis, "shape");
      if (length > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
        malformed(name, fmt::format("its shape holds {}, more than any memory", length));
      result.push_back(static_cast<std::int64_t>(length));
    }
    return result;
  }

  void check_size(const TensorEntry& entry) const {
    const bool is_empty = std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
    std::int64_t bits = std::max(entry.dtype.bits, 1);
    for (std::size_t i = 0; i < entry.shape.size() && !is_empty; ++i)
      if (__builtin_mul_overflow(bits, entry.shape[i], &bits))
        malformed(entry.name, fmt::format("its shape {} has more elements than 64 bits can count",
                                          shape_text(entry.shape)));
    if (is_empty) bits = 0;
    if (entry.dtype.bits == 0) return;
    if (bits % 8 != 0)
      malformed(entry.name, fmt::format("its shape {} of {} ends within a byte", shape_text(entry.shape),
                                        entry.dtype.name));
    if (static_cast<std::uint64_t>(bits / 8) != entry.bytes)
      malformed(entry.name, fmt::format("its shape {} of {} takes {} bytes, its data_offsets span {}",
                                        shape_text(entry.shape), entry.dtype.name, bits / 8, entry.bytes));
  }

  // Place in the file of an offset in the data, if there is such a place at all.
  std::optional<std::uint64_t> place(std::uint64_t offset) const {
    std::uint64_t sum = 0;
    if (__builtin_add_overflow(data_start_, offset, &sum)) return {};
    return sum;
  }

  void check_ranges(std::vector<TensorEntry>& tensors) const {
    std::sort(tensors.begin(), tensors.end(), [](const TensorEntry& a, const TensorEntry& b) {
      return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
    });
    std::uint64_t end = 0;
    const std::string* before = nullptr;
    for (const TensorEntry& entry : tensors) {
      const std::string neighbour = before == nullptr ? "the header" : fmt::format("\"{}\"", *before);
      if (entry.offset < end)
        fail(FileFault::malformed, entry.name, place(entry.offset),
             fmt::format("its bytes overlap those of {}; the file was written wrongly, get another copy",
                         neighbour));
      if (entry.offset > end)
        fail(FileFault::malformed, entry.name, place(entry.offset),
             fmt::format(
                 "{} bytes that belong to no tensor stand between {} and it; the file was written wrongly, "
                 "get another copy",
                 entry.offset - end, neighbour));
      end = entry.offset + entry.bytes;
      before = &entry.name;
    }
    check_end(end, tensors);
  }

  void check_end(std::uint64_t end, const std::vector<TensorEntry>& tensors) const {
    const std::uint64_t available = file_.size() - data_start_;
    if (end < available)
      fail(FileFault::malformed, {}, data_start_ + end,
           fmt::format(
               "{} bytes follow the last tensor; the file was written wrongly or joined, get another copy",
               available - end));
    if (end == available) return;
    const auto cut = std::find_if(tensors.begin(), tensors.end(), [&](const TensorEntry& entry) {
      return entry.offset + entry.bytes > available;
    });
    fail(FileFault::truncated, cut->name, file_.size(),
         fmt::format(
             "the file ends in it: {} bytes of tensors are missing, an interrupted download; fetch it again",
             end - available));
  }

  const InputFile& file_;
  std::uint64_t data_start_ = 0;
};

}  // namespace

SafetensorsHeader read_safetensors_header(const InputFile& file) {
  try {
    return HeaderReader(file).read();
  } catch (const CheckpointError&) {
    throw;
  } catch (const FileError& error) {
    throw CheckpointError(error.fault(), error.place(), error.reason());
  }
}

}  // namespace headspan::checkpoint
