#include "headspan/estimator/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <charconv>
#include <ostream>
#include <sstream>
#include <string_view>

#include "estimator/model_json.h"
#include "estimator/model_tensors.h"
#include "headspan/checkpoint/container.h"
#include "headspan/checkpoint/write_safetensors.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/io.h"

namespace headspan::estimator {
namespace {

constexpr const char* kFormat = "headspan.model";
constexpr std::string_view kChecksumKey = "\"checksum\":\"";  // quotes inside texts are escaped, so only once
constexpr std::string_view kNoChecksum = "00000000";
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

[[noreturn]] void fail(FileFault fault, const std::string& path, const std::string& item,
                       const std::string& reason) {
  throw CheckpointError(fault, {path, item, {}}, reason);
}

std::string document(const TableModel& model) {
  const std::vector<NamedArray> arrays = arrays_of(model.model);
  std::vector<checkpoint::TensorBytes> tensors;
  for (const NamedArray& array : arrays)
    tensors.push_back(
        {array.name,
         "F64",
         array.shape,
         {reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(double)}});
  std::ostringstream out;
  checkpoint::write_safetensors(out, tensors,
                                {{"format", kFormat},
                                 {"format_version", std::to_string(kModelFileVersion)},
                                 {"written_by", model.written_by},
                                 {"checksum", std::string(kNoChecksum)},
                                 {"table", table_json(model)},
                                 {"structure", structure_json(model.model)}});
  return out.str();
}

std::string hexadecimal(std::uint32_t checksum) { return fmt::format("{:08x}", checksum); }

void seal(std::string& bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const std::size_t at = bytes.find(kChecksumKey) + kChecksumKey.size();
  bytes.replace(at, kNoChecksum.size(), hexadecimal(crc.checksum()));
}

/// CRC-32 of the file with the digits of the checksum, which stand in its first piece, read as zeros.
std::string checksum_of(const InputFile& file, const std::string& stated) {
  boost::crc_32_type crc;
  std::string piece, key = std::string(kChecksumKey) + stated;
  for (std::uint64_t offset = 0; offset < file.size(); offset += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, file.size() - offset)));
    file.read(offset, piece.data(), piece.size());
    if (offset == 0) {
      const std::size_t at = piece.find(key);
      if (at != std::string::npos) piece.replace(at + kChecksumKey.size(), stated.size(), kNoChecksum);
    }
    crc.process_bytes(piece.data(), piece.size());
  }
  return hexadecimal(crc.checksum());
}

const std::string& entry(const checkpoint::Container& container, const std::string& key) {
  const auto found = container.metadata().find(key);
  if (found != container.metadata().end()) return found->second;
  fail(FileFault::malformed, container.path(), key,
       "the metadata lacks it; no headspan writes this: get another copy, or fit again");
}

/// The version of the format, one that this headspan reads.
int format_version_of(const checkpoint::Container& container) {
  const auto& metadata = container.metadata();
  const auto format = metadata.find("format");
  if (format == metadata.end() || format->second != kFormat)
    fail(FileFault::unsupported, container.path(), {},
         "this is a safetensors file but no model of headspan fit; name a file that headspan fit wrote");
  const std::string& text = entry(container, "format_version");
  int version = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), version);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || version < 1)
    fail(FileFault::malformed, container.path(), "format_version",
         fmt::format("is '{}', not a whole number from 1; get another copy", text));
  if (version > kModelFileVersion)
    fail(FileFault::unsupported, container.path(), {},
         fmt::format("the model has format {} and this headspan reads up to {}; use a newer headspan",
                     version, kModelFileVersion));
  return version;
}

void check_checksum(const checkpoint::Container& container) {
  const std::string& stated = entry(container, "checksum");
  const InputFile file(container.files().front());
  const std::string have = checksum_of(file, stated);
  if (have != stated)
    fail(
        FileFault::malformed, container.path(), {},
        fmt::format("the checksum of its content is {} and it states {}: the file is damaged or was changed; "
                    "get another copy, or fit again",
                    have, stated));
}

/// What the arrays do not say by their shapes.
void check_consistent(const TableModel& table_model, const std::string& path) {
  const Model& model = table_model.model;
  const auto malformed = [&](const std::string& item, const std::string& reason) {
    fail(FileFault::malformed, path, item,
         reason + "; no headspan writes this: get another copy, or fit again");
  };
  if (model.input_center.size() != table_model.encoding.width())
    malformed("input.center", fmt::format("{} inputs for a table that becomes {}", model.input_center.size(),
                                          table_model.encoding.width()));
  if (!model.keys.allFinite() || !model.target.allFinite() || !model.frequency.allFinite())
    malformed("row.inputs", "a training row is not finite");
  for (const Index input : model.inputs)
    if (!(model.input_scale[input] > 0.0)) malformed("input.scale", "an input in use has no scale");
}

}  // namespace

void write_model(std::ostream& out, const TableModel& model) {
  if (model.model.input_center.size() != model.encoding.width())
    throw ArgumentError(fmt::format("model: has {} inputs, its encoding gives {}",
                                    model.model.input_center.size(), model.encoding.width()));
  std::string bytes = document(model);
  seal(bytes);
  out << bytes;
}

void save_model(const std::string& path, const TableModel& model) {
  replace_file(path, [&](std::ostream& out) { write_model(out, model); });
}

TableModel load_model(const std::string& path) {
  const auto container = checkpoint::open_container(path);
  const int version = format_version_of(*container);
  check_checksum(*container);
  TableModel model;
  model.written_by = entry(*container, "written_by");
  read_table_json(entry(*container, "table"), path, model);
  read_structure_json(entry(*container, "structure"), path, container->tensors().size(), model.model);
  fill_arrays(*container, version, model.model);
  check_consistent(model, path);
  return model;
}

}  // namespace headspan::estimator
