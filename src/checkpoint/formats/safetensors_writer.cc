#include <fmt/format.h>

#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "checkpoint/dtype.h"
#include "headspan/checkpoint/container.h"
#include "headspan/checkpoint/write_safetensors.h"

namespace headspan::checkpoint {
namespace {

// Elements are written as they lie in memory.
static_assert(std::endian::native == std::endian::little);

constexpr const char* kMetadata = "__metadata__";
constexpr std::size_t kAlignment = 8;

void check(const TensorBytes& tensor, std::set<std::string>& names) {
  const auto fail = [&](const std::string& rule) {
    throw ArgumentError(fmt::format("tensors: '{}': {}", tensor.name, rule));
  };
  if (tensor.name.empty() || tensor.name == kMetadata) fail("cannot be the name of a tensor");
  if (!names.insert(tensor.name).second) fail("is there twice");
  const Dtype dtype = dtype_named(tensor.dtype);
  if (!dtype.readable) fail(fmt::format("its type {} is not one of {}", tensor.dtype, readable_dtypes()));
  const TensorEntry entry{tensor.name, dtype, tensor.shape};
  const auto bytes =
      static_cast<std::uint64_t>(entry.elements()) * static_cast<std::uint64_t>(dtype.bits / 8);
  if (bytes != tensor.bytes.size())
    fail(fmt::format("its shape {} of {} takes {} bytes, {} are given", shape_text(tensor.shape),
                     tensor.dtype, bytes, tensor.bytes.size()));
}

std::string header_text(const std::vector<TensorBytes>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::set<std::string> names;
  std::size_t begin = 0;
  for (const TensorBytes& tensor : tensors) {
    check(tensor, names);
    const std::size_t end = begin + tensor.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  try {
    return header.dump();
  } catch (const nlohmann::json::exception& error) {
    throw ArgumentError(fmt::format("tensors, metadata: a text is not UTF-8: {}", error.what()));
  }
}

}  // namespace

void write_safetensors(std::ostream& out, const std::vector<TensorBytes>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::string header = header_text(tensors, metadata);
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  std::array<char, sizeof(std::uint64_t)> length;
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  out.write(length.data(), length.size());
  out << header;
  for (const TensorBytes& tensor : tensors)
    out.write(tensor.bytes.data(), static_cast<std::streamsize>(tensor.bytes.size()));
}

}  // namespace headspan::checkpoint
