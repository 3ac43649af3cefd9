// Shards, indexes and folders.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/safetensors_fixture.h"
#include "headspan/checkpoint/container.h"

namespace headspan::checkpoint {
namespace {

namespace fs = std::filesystem;
using fixture::bytes_of;
using fixture::entry;
using fixture::header_of;
using fixture::safetensors;

constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

std::string shard(const std::string& name, float value) {
  return safetensors(header_of({entry(name, "F32", "[1,2]", "[0,8]")}), bytes_of<float>({value, value + 1}));
}

std::string index_of(const std::vector<std::pair<std::string, std::string>>& weights,
                     const std::string& total = "16") {
  std::string map;
  for (const auto& [tensor, file] : weights)
    map += fmt::format("{}\"{}\":\"{}\"", map.empty() ? "" : ",", tensor, file);
  return fmt::format(R"({{"metadata":{{"total_size":{}}},"weight_map":{{{}}}}})", total, map);
}

class Folders : public fixture::FolderTest {
 protected:
  void write_sharded() const {
    write(kFirst, shard("a", 1));
    write(kSecond, shard("b", 3));
    write(kIndex, index_of({{"a", kFirst}, {"b", kSecond}}));
  }
  static double first_entry(const Container& container, const std::string& name) {
    Matrix out(1, 2);
    container.read_rows(*container.find(name), 0, 1, out);
    return out(0, 0);
  }
  CheckpointError error_of(const std::string& path) const {
    try {
      open_container(path);
    } catch (const CheckpointError& error) {
      return error;
    }
    throw std::logic_error("it was accepted");
  }
  static bool mentions(const CheckpointError& error, const std::string& words) {
    return error.reason().find(words) != std::string::npos;
  }
};

TEST_F(Folders, AnIndexTiesItsShards) {
  write_sharded();
  for (const std::string& path : {at(kIndex), folder_.string(), folder_.string() + "/"}) {
    SCOPED_TRACE(path);
    const auto container = open_container(path);
    EXPECT_EQ(container->path(), path);
    EXPECT_EQ(container->format(), "safetensors (2 shards)");
    ASSERT_EQ(container->files().size(), 3U);
    EXPECT_EQ(fs::path(container->files()[2]).filename(), kIndex);
    EXPECT_EQ(first_entry(*container, "a"), 1.0);
    EXPECT_EQ(first_entry(*container, "b"), 3.0);
    EXPECT_EQ(container->find("b")->file, 1);
    EXPECT_TRUE(container->notes().empty());
  }
}

TEST_F(Folders, ARelativeIndexFindsItsShards) {
  write_sharded();
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const auto container = open_container(kIndex);
  fs::current_path(before);
  EXPECT_EQ(container->tensors().size(), 2U);
}

TEST_F(Folders, LinksAreFollowed) {
  fs::create_directories(folder_ / "blobs");
  fs::create_directories(folder_ / "snapshot");
  write("blobs/0a1b", shard("a", 1));
  fs::create_symlink("../blobs/0a1b", folder_ / "snapshot/model.safetensors");
  EXPECT_EQ(first_entry(*open_container(at("snapshot")), "a"), 1.0);
  fs::remove(at("blobs/0a1b"));
  const CheckpointError error = error_of(at("snapshot"));
  EXPECT_EQ(error.fault(), FileFault::missing);
  EXPECT_TRUE(mentions(error, "0a1b")) << error.what();
}

TEST_F(Folders, AMissingShardIsNamedWithWhatIsThere) {
  write_sharded();
  fs::rename(at(kSecond), at("model-00002-of-00004.safetensors"));
  const CheckpointError error = error_of(folder_.string());
  EXPECT_EQ(error.fault(), FileFault::missing);
  EXPECT_EQ(error.place().path, at(kIndex));
  EXPECT_EQ(error.place().item, kSecond);
  EXPECT_TRUE(mentions(error, "model-00002-of-00004.safetensors")) << error.what();
}

TEST_F(Folders, AStaleIndexIsRefused) {
  write_sharded();
  write(kIndex, index_of({{"a", kFirst}, {"b", kSecond}, {"c", kSecond}}));
  CheckpointError error = error_of(at(kIndex));
  EXPECT_EQ(error.fault(), FileFault::refused);
  EXPECT_EQ(error.place().item, "c");
  EXPECT_TRUE(mentions(error, "no shard")) << error.what();

  write(kIndex, index_of({{"a", kSecond}, {"b", kFirst}}));
  error = error_of(at(kIndex));
  EXPECT_EQ(error.fault(), FileFault::refused);
  EXPECT_EQ(error.place().item, "a");
  EXPECT_TRUE(mentions(error, kFirst)) << error.what();
}

TEST_F(Folders, ATensorOutsideTheIndexIsNotedAndUsable) {
  write_sharded();
  write(kIndex, index_of({{"a", kFirst}, {"b", kSecond}}));
  write(
      kSecond,
      safetensors(header_of({entry("b", "F32", "[1,2]", "[0,8]"), entry("extra", "F32", "[1,2]", "[8,16]")}),
                  bytes_of<float>({3, 4, 5, 6})));
  const auto container = open_container(folder_.string());
  ASSERT_EQ(container->notes().size(), 1U);
  EXPECT_NE(container->notes()[0].find("extra"), std::string::npos);
  EXPECT_EQ(first_entry(*container, "extra"), 5.0);
}

TEST_F(Folders, ATensorInTwoShardsIsRefused) {
  write_sharded();
  write(kSecond,
        safetensors(header_of({entry("b", "F32", "[1,2]", "[0,8]"), entry("a", "F32", "[1,2]", "[8,16]")}),
                    std::string(16, '\1')));
  const CheckpointError error = error_of(folder_.string());
  EXPECT_EQ(error.fault(), FileFault::refused);
  EXPECT_EQ(error.place().item, "a");
  EXPECT_TRUE(mentions(error, kFirst)) << error.what();
}

TEST_F(Folders, AnotherTotalSizeIsNoted) {
  write_sharded();
  write(kIndex, index_of({{"a", kFirst}, {"b", kSecond}}, "17"));
  const auto container = open_container(folder_.string());
  ASSERT_EQ(container->notes().size(), 1U);
  EXPECT_NE(container->notes()[0].find("17 bytes"), std::string::npos) << container->notes()[0];
}

TEST_F(Folders, ADefectOfAShardNamesTheShard) {
  write_sharded();
  write(kSecond, "version https://git-lfs.github.com/spec/v1\n");
  const CheckpointError error = error_of(folder_.string());
  EXPECT_EQ(error.fault(), FileFault::malformed);
  EXPECT_EQ(error.place().path, at(kSecond));
}

struct IndexDefect {
  const char* name;
  std::string text;
  FileFault fault;
  std::string item;
};

TEST_F(Folders, EachDefectOfAnIndexIsNamed) {
  write_sharded();
  const std::vector<IndexDefect> defects{
      {"empty", "", FileFault::malformed, ""},
      {"cut", R"({"weight_map":{"a")", FileFault::malformed, ""},
      {"git-LFS pointer", "version https://git-lfs.github.com/spec/v1\n", FileFault::malformed, ""},
      {"HTML", " <!doctype html>", FileFault::malformed, ""},
      {"array", "[]", FileFault::malformed, ""},
      {"another JSON", R"({"model_type":"llama"})", FileFault::malformed, ""},
      {"map of another kind", R"({"weight_map":["a"]})", FileFault::malformed, ""},
      {"no tensors", R"({"weight_map":{}})", FileFault::malformed, ""},
      {"shard that is a number", R"({"weight_map":{"a":1}})", FileFault::malformed, "a"},
      {"one tensor twice", R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})",
       FileFault::malformed, "a"},
      {"shard in another folder", R"({"weight_map":{"a":"../x.safetensors"}})", FileFault::refused, "a"},
      {"absolute shard", R"({"weight_map":{"a":"/etc/passwd"}})", FileFault::refused, "a"},
      {"shard in a folder below", R"({"weight_map":{"a":"d/x.safetensors"}})", FileFault::refused, "a"},
      {"shard with a backslash", R"({"weight_map":{"a":"d\\x.safetensors"}})", FileFault::refused, "a"},
      {"shard is the folder above", R"({"weight_map":{"a":".."}})", FileFault::refused, "a"},
      {"shard without name", R"({"weight_map":{"a":""}})", FileFault::refused, "a"},
      {"shard with a NUL", R"({"weight_map":{"a":"x\u0000"}})", FileFault::refused, "a"},
      {"index of pickles", R"({"weight_map":{"a":"pytorch_model-00001-of-00002.bin"}})",
       FileFault::unsupported, "a"},
  };
  for (const IndexDefect& defect : defects) {
    SCOPED_TRACE(defect.name);
    const CheckpointError error = error_of(write(kIndex, defect.text));
    EXPECT_EQ(error.fault(), defect.fault) << error.what();
    EXPECT_EQ(error.place().item, defect.item) << error.what();
    EXPECT_EQ(error.place().path, at(kIndex)) << error.what();
  }
}

TEST_F(Folders, ModelSafetensorsComesFirst) {
  write("model.safetensors", shard("a", 1));
  write("adapter_model.safetensors", shard("b", 3));
  write("pytorch_model.bin", "x");
  write("pytorch_model.bin.index.json", "{}");
  write("config.json", "{}");
  const auto container = open_container(folder_.string());
  EXPECT_EQ(container->format(), "safetensors");
  EXPECT_EQ(container->files(), std::vector<std::string>{at("model.safetensors")});
}

TEST_F(Folders, TheOnlyFileOrIndexIsTaken) {
  write("weights.safetensors", shard("a", 1));
  write("._weights.safetensors", "left by a file manager");
  write(".hidden.safetensors.index.json", "{}");
  EXPECT_EQ(first_entry(*open_container(folder_.string()), "a"), 1.0);
  write("other.safetensors.index.json", index_of({{"a", "weights.safetensors"}}, "8"));
  EXPECT_EQ(open_container(folder_.string())->format(), "safetensors (1 shard)");
}

TEST_F(Folders, AFileBesideACompleteIndexIsAmbiguous) {
  write_sharded();
  write("model.safetensors", shard("a", 1));
  const CheckpointError error = error_of(folder_.string());
  EXPECT_EQ(error.fault(), FileFault::refused);
  EXPECT_TRUE(mentions(error, "model.safetensors, model.safetensors.index.json")) << error.what();
}

TEST_F(Folders, AFileBesideAnIndexWithoutItsShardsIsReadWithANote) {
  write("model.safetensors", shard("a", 1));
  write(kIndex, index_of({{"a", kFirst}, {"b", kSecond}}));
  const auto container = open_container(folder_.string());
  EXPECT_EQ(first_entry(*container, "a"), 1.0);
  ASSERT_EQ(container->notes().size(), 1U);
  EXPECT_NE(container->notes()[0].find(kFirst), std::string::npos);
}

TEST_F(Folders, AnIndexOfTheFileItselfIsNoConflict) {
  write("model.safetensors", shard("a", 1));
  write(kIndex, index_of({{"a", "model.safetensors"}}, "8"));
  EXPECT_EQ(first_entry(*open_container(folder_.string()), "a"), 1.0);
}

TEST_F(Folders, SeveralCandidatesAreListed) {
  write("b.safetensors", shard("a", 1));
  write("a.safetensors", shard("a", 1));
  CheckpointError error = error_of(folder_.string());
  EXPECT_EQ(error.fault(), FileFault::refused);
  EXPECT_TRUE(mentions(error, "a.safetensors, b.safetensors")) << error.what();

  write("x.safetensors.index.json", "{}");
  write("y.safetensors.index.json", "{}");
  error = error_of(folder_.string());
  EXPECT_EQ(error.fault(), FileFault::refused);
  EXPECT_TRUE(mentions(error, "x.safetensors.index.json")) << error.what();
}

TEST_F(Folders, ShardsWithoutTheirIndexAreRefused) {
  write(kFirst, shard("a", 1));
  write(kSecond, shard("b", 3));
  const CheckpointError error = error_of(folder_.string());
  EXPECT_EQ(error.fault(), FileFault::refused);
  EXPECT_TRUE(mentions(error, "index.json")) << error.what();
}

TEST_F(Folders, ALoneShardIsNoted) {
  const auto container = open_container(write(kFirst, shard("a", 1)));
  ASSERT_EQ(container->notes().size(), 1U);
  EXPECT_NE(container->notes()[0].find("one shard of 2"), std::string::npos);
}

TEST_F(Folders, OtherWeightsAreNamed) {
  write("pytorch_model.bin", "x");
  write("model.onnx", "x");
  const CheckpointError error = error_of(folder_.string());
  EXPECT_EQ(error.fault(), FileFault::unsupported);
  EXPECT_TRUE(mentions(error, "model.onnx, pytorch_model.bin")) << error.what();
}

TEST_F(Folders, AFolderWithoutWeights) {
  write("config.json", "{}");
  EXPECT_EQ(error_of(folder_.string()).fault(), FileFault::missing);
}

TEST(TensorEntries, ElementsAndShapes) {
  TensorEntry entry;
  EXPECT_EQ(entry.elements(), 1);
  EXPECT_EQ(shape_text(entry.shape), "[]");
  entry.shape = {3, 4, 5};
  EXPECT_EQ(entry.elements(), 60);
  EXPECT_EQ(shape_text(entry.shape), "[3, 4, 5]");
  entry.shape = {INT64_MAX, INT64_MAX, 0};
  EXPECT_EQ(entry.elements(), 0);
}

}  // namespace
}  // namespace headspan::checkpoint
