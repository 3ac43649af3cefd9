// The catalogue of defects of one safetensors file: one defect per entry, each named by kind and place.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/safetensors_fixture.h"
#include "headspan/checkpoint/container.h"

namespace headspan::checkpoint {
namespace {

using namespace std::string_literals;
using fixture::entry;
using fixture::little_endian;
using fixture::safetensors;

struct Defect {
  std::string name;
  std::string bytes;
  FileFault fault;
  std::optional<std::uint64_t> offset;  // empty: none is meaningful
  std::string item;                     // the tensor or key named
  std::string words;                    // what the reason must mention
};

constexpr auto kMalformed = FileFault::malformed;
constexpr auto kTruncated = FileFault::truncated;
constexpr auto kUnsupported = FileFault::unsupported;

void add_other_formats(std::vector<Defect>& all) {
  all.push_back({"empty file", "", kTruncated, 0, "", "empty"});
  all.push_back({"git-LFS pointer",
                 "version https://git-lfs.github.com/spec/v1\noid "
                 "sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 1044984\n",
                 kMalformed, 0, "", "git lfs pull"});
  all.push_back({"HTML", "<!DOCTYPE html>\n<html><body>404</body></html>\n", kMalformed, 0, "", "HTML"});
  all.push_back({"HTML after blanks", "\n\n  <html lang=\"en\"></html>", kMalformed, 0, "", "HTML"});
  all.push_back(
      {"XML", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", kMalformed, 0, "", "XML"});
  all.push_back({"text", "Entry not found", kMalformed, 0, "", "Entry not found"});
  all.push_back({"short text", "gone\n", kMalformed, 0, "", "gone"});
  all.push_back({"JSON", R"({"metadata":{},"weight_map":{}})", kMalformed, 0, "", "JSON"});
  all.push_back({"zip", "PK\x03\x04"s + std::string(60, '\0'), kUnsupported, 0, "", "zip"});
  all.push_back(
      {"pickle", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", kUnsupported, 0, "", "pickle"});
  all.push_back({"newer pickle", "\x80\x04\x95\x10"s + std::string(20, '\1'), kUnsupported, 0, "", "pickle"});
  all.push_back({"GGUF", "GGUF\x03\0\0\0"s + std::string(16, '\0'), kUnsupported, 0, "", "GGUF"});
  all.push_back(
      {"GGUF, magic swapped", "FUGG\0\0\0\x03"s + std::string(16, '\0'), kUnsupported, 0, "", "GGUF"});
  all.push_back({"HDF5", "\x89HDF\r\n\x1a\n"s + std::string(16, '\0'), kUnsupported, 0, "", "HDF5"});
  all.push_back({"npy", "\x93NUMPY\x01\0"s + std::string(16, '\0'), kUnsupported, 0, "", "NumPy"});
  all.push_back({"gzip", "\x1f\x8b\x08\0"s + std::string(16, '\0'), kUnsupported, 0, "", "gzip"});
}

void add_headers(std::vector<Defect>& all) {
  const std::string one = "{" + entry("w", "F32", "[1]", "[0,4]") + "}";
  all.push_back({"seven bytes", "\x02\0\0\0\0\0\0"s, kTruncated, 0, "", "7 bytes"});
  all.push_back({"header of 100,000,001 bytes", little_endian(100'000'001) + "{" + std::string(64, ' '),
                 kMalformed, 0, "", "100000001"});
  all.push_back(
      {"header of 100,000,000 bytes cut", little_endian(100'000'000) + "{}", kTruncated, 10, "", ""});
  all.push_back({"header of 2^64 - 1 bytes", little_endian(~std::uint64_t{0}) + "{}", kMalformed, 0, "", ""});
  all.push_back({"header longer than the file", little_endian(one.size() + 1) + one, kTruncated,
                 8 + one.size(), "", ""});
  all.push_back({"header without bytes", little_endian(0) + "{}", kMalformed, 0, "", ""});
  all.push_back(
      {"header that starts with a space", safetensors(" " + one, "abcd"), kMalformed, 8, "", "'{'"});
  all.push_back({"header that is an array", safetensors("[]"), kMalformed, 8, "", "'{'"});
  all.push_back({"header cut inside", safetensors(one.substr(0, one.size() - 1), "abcd"), kMalformed,
                 8 + one.size() - 1, "", "JSON"});
  all.push_back({"header with something behind it", safetensors(one + "x", "abcd"), kMalformed,
                 8 + one.size(), "", "JSON"});
  all.push_back(
      {"header padded with NUL", safetensors(one + "\0"s, "abcd"), kMalformed, 8 + one.size(), "", "NUL"});
  all.push_back({"name that is not UTF-8",
                 safetensors("{" + entry("\xff", "F32", "[1]", "[0,4]") + "}", "abcd"), kMalformed, 10, "",
                 "JSON"});
  all.push_back({"header nested beyond reason", safetensors(R"({"w":)" + std::string(5000, '[')), kMalformed,
                 8 + 5 + 127, "", "128"});
}

void add_duplicates_and_metadata(std::vector<Defect>& all) {
  const std::string w = entry("w", "F32", "[1]", "[0,4]");
  all.push_back({"one tensor name twice", safetensors("{" + w + "," + w + "}", "abcd"), kMalformed,
                 8 + 1 + w.size() + 1, "w", "twice"});
  all.push_back({"one key of a tensor twice",
                 safetensors(R"({"w":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", "abcd"),
                 kMalformed, 8 + 32, "shape", "twice"});
  all.push_back({"one metadata key twice", safetensors(R"({"__metadata__":{"a":"1","a":"2"}})"), kMalformed,
                 8 + 25, "a", "twice"});
  all.push_back({"metadata number",
                 safetensors(R"({"__metadata__":{"step":3}})"),
                 kMalformed,
                 {},
                 "__metadata__",
                 "step"});
  all.push_back({"metadata null value",
                 safetensors(R"({"__metadata__":{"step":null}})"),
                 kMalformed,
                 {},
                 "__metadata__",
                 "step"});
  all.push_back({"metadata nested",
                 safetensors(R"({"__metadata__":{"a":{"b":"c"}}})"),
                 kMalformed,
                 {},
                 "__metadata__",
                 "text"});
  all.push_back(
      {"metadata list", safetensors(R"({"__metadata__":["a"]})"), kMalformed, {}, "__metadata__", "object"});
}

void add_tensor_fields(std::vector<Defect>& all) {
  const auto add = [&](const std::string& name, const std::string& fields, const std::string& words) {
    all.push_back({name, safetensors(R"({"w":)" + fields + "}", "abcd"), kMalformed, {}, "w", words});
  };
  add("tensor that is a number", "1", "object");
  add("no dtype", R"({"shape":[1],"data_offsets":[0,4]})", "dtype");
  add("no shape", R"({"dtype":"F32","data_offsets":[0,4]})", "shape");
  add("no data_offsets", R"({"dtype":"F32","shape":[1]})", "data_offsets");
  add("dtype that is a number", R"({"dtype":32,"shape":[1],"data_offsets":[0,4]})", "dtype");
  add("shape that is a number", R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})", "shape");
  add("negative length", R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", "-1");
  add("fractional length", R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})", "1.0");
  add("length as text", R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})", "string");
  add("length null", R"({"dtype":"F32","shape":[null],"data_offsets":[0,4]})", "null");
  add("length true", R"({"dtype":"F32","shape":[true],"data_offsets":[0,4]})", "boolean");
  add("length beyond 64 bits", R"({"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4]})",
      "64 bits");
  add("length beyond 63 bits", R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})",
      "memory");
  add("one offset", R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", "pair");
  add("three offsets", R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})", "pair");
  add("negative offset", R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})", "-4");
  add("fractional offset", R"({"dtype":"F32","shape":[1],"data_offsets":[0,4.5]})", "4.5");
  add("offset beyond 64 bits", R"({"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551620]})",
      "64 bits");
  add("reversed offsets", R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", "reversed");
  add("fewer bytes than the shape", R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", "8 bytes");
  add("more bytes than the shape", R"({"dtype":"F16","shape":[1],"data_offsets":[0,4]})", "2 bytes");
  // 2^32 * 2^32 * 4 bytes is 0 modulo 2^64; 2^62 * 32 bits is 0 modulo 2^64 too.
  add("product that wraps to nothing",
      R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", "64 bits");
  add("bit count that wraps to nothing",
      R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]})", "64 bits");
  // (2^61 + 1) * 32 bits is 32 modulo 2^64.
  add("bit count that wraps to the truth",
      R"({"dtype":"F32","shape":[2305843009213693953],"data_offsets":[0,4]})", "64 bits");
  add("product of an unknown type that wraps",
      R"({"dtype":"X","shape":[4294967296,4294967296],"data_offsets":[0,4]})", "64 bits");
  add("four-bit elements that end within a byte", R"({"dtype":"F4","shape":[7],"data_offsets":[0,4]})",
      "within a byte");
  add("six-bit elements that end within a byte", R"({"dtype":"F6_E3M2","shape":[5],"data_offsets":[0,4]})",
      "within a byte");
  add("four-bit elements counted as bytes", R"({"dtype":"F4","shape":[4],"data_offsets":[0,4]})", "2 bytes");
}

void add_ranges(std::vector<Defect>& all) {
  const auto add = [&](const std::string& name, const std::string& header, std::size_t n_bytes,
                       FileFault fault, std::uint64_t data_offset, const std::string& item,
                       const std::string& words) {
    all.push_back({name, safetensors(header, std::string(n_bytes, '\1')), fault,
                   8 + header.size() + data_offset, item, words});
  };
  const std::string a = entry("a", "F32", "[2]", "[0,8]");
  const auto pair = [&](const std::string& shape, const std::string& offsets) {
    return "{" + a + "," + entry("b", "F32", shape, offsets) + "}";
  };
  add("overlap", pair("[2]", "[4,12]"), 12, kMalformed, 4, "b", "overlap");
  add("same bytes under two names", pair("[2]", "[0,8]"), 8, kMalformed, 0, "b", "overlap");
  add("one inside another", pair("[1]", "[4,8]"), 8, kMalformed, 4, "b", "overlap");
  add("empty one inside another", pair("[0]", "[4,4]"), 8, kMalformed, 4, "b", "overlap");
  add("gap", pair("[2]", "[12,20]"), 20, kMalformed, 12, "b", "4 bytes");
  add("gap after the header", "{" + entry("a", "F32", "[2]", "[4,12]") + "}", 12, kMalformed, 4, "a",
      "the header");
  add("gap before an empty one", pair("[0]", "[12,12]"), 12, kMalformed, 12, "b", "4 bytes");
  add("trailing byte", "{" + a + "}", 9, kMalformed, 8, "", "1 bytes");
  add("data without tensors", "{}", 4, kMalformed, 0, "", "4 bytes");
  add("last byte missing", pair("[2]", "[8,16]"), 15, kTruncated, 15, "b", "1 bytes");
  add("all data missing", "{" + a + "}", 0, kTruncated, 0, "a", "8 bytes");
  add("offsets far beyond the end",
      "{" + entry("a", "U8", "[1152921504606846975]", "[0,1152921504606846975]") + "}", 8, kTruncated, 8, "a",
      "download");
  const std::string huge = "{" + a + "," + entry("b", "X", "[1]", "[8,18446744073709551615]") + "}";
  add("end at 2^64 - 1", huge, 8, kTruncated, 8, "b", "download");
  const std::string wrap =
      "{" + entry("a", "F32", "[0]", "[18446744073709551615,18446744073709551615]") + "}";
  all.push_back({"place in the file beyond 64 bits", safetensors(wrap), kMalformed, {}, "a", "bytes"});
}

std::vector<Defect> defects() {
  std::vector<Defect> all;
  add_other_formats(all);
  add_headers(all);
  add_duplicates_and_metadata(all);
  add_tensor_fields(all);
  add_ranges(all);
  return all;
}

class SafetensorsDefects : public fixture::FolderTest {};

TEST_F(SafetensorsDefects, EachIsNamedByKindAndPlace) {
  for (const Defect& defect : defects()) {
    SCOPED_TRACE(defect.name);
    const std::string path = write("m.safetensors", defect.bytes);
    try {
      open_container(path);
      ADD_FAILURE() << "it was accepted";
    } catch (const CheckpointError& error) {
      EXPECT_EQ(error.fault(), defect.fault) << error.what();
      EXPECT_EQ(error.place().path, path) << error.what();
      EXPECT_EQ(error.place().offset, defect.offset) << error.what();
      EXPECT_EQ(error.place().item, defect.item) << error.what();
      EXPECT_NE(error.reason().find(defect.words), std::string::npos) << error.what();
    }
  }
}

// A valid file cut anywhere never opens, and never does worse than fail.
TEST_F(SafetensorsDefects, EveryPrefixOfAFileIsRefused) {
  const std::string whole = safetensors("{" + entry("w", "F32", "[2]", "[0,8]") + "}", "abcdefgh");
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_THROW(open_container(write("m.safetensors", whole.substr(0, length))), CheckpointError) << length;
}

// One byte of the header changed: either the file still opens with ranges inside it, or it is refused.
TEST_F(SafetensorsDefects, ADamagedHeaderNeverGivesRangesOutsideTheFile) {
  const std::string whole =
      safetensors("{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F16", "[1,2]", "[8,12]") + "}",
                  "abcdefghijkl");
  for (std::size_t i = 0; i < whole.size() - 12; ++i)
    for (const char value : {'\0', '\xff', '0', '9', '"', '}', '-', 'e'}) {
      std::string damaged = whole;
      damaged[i] = value;
      try {
        const auto container = open_container(write("m.safetensors", damaged));
        for (const auto& [name, tensor] : container->tensors())
          EXPECT_LE(tensor.offset + tensor.bytes, damaged.size()) << i << " " << name;
      } catch (const CheckpointError&) {
        continue;
      }
    }
}

TEST_F(SafetensorsDefects, NoFile) {
  try {
    open_container(at("absent.safetensors"));
    ADD_FAILURE();
  } catch (const CheckpointError& error) {
    EXPECT_EQ(error.fault(), FileFault::missing);
  }
}

}  // namespace
}  // namespace headspan::checkpoint
