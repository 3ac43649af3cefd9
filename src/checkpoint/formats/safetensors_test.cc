#include "checkpoint/formats/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "checkpoint/dtype.h"
#include "checkpoint/safetensors_fixture.h"

namespace headspan::checkpoint {
namespace {

namespace fs = std::filesystem;
using fixture::bytes_of;
using fixture::entry;
using fixture::safetensors;

class Safetensors : public fixture::FolderTest {};

Matrix rows(const Container& container, const std::string& name, std::int64_t first, std::int64_t count,
            std::int64_t columns) {
  Matrix out(count, columns);
  container.read_rows(*container.find(name), first, count, out);
  return out;
}

TEST_F(Safetensors, ReadsEveryReadableType) {
  const std::string header =
      "{" + entry("d", "F64", "[2,2]", "[0,32]") + "," + entry("s", "F32", "[2,2]", "[32,48]") + "," +
      entry("h", "F16", "[2,2]", "[48,56]") + "," + entry("b", "BF16", "[2,2]", "[56,64]") + "}";
  const std::string data = bytes_of<double>({1, 2, 3, 0.1}) + bytes_of<float>({1, 2, 3, 0.1F}) +
                           bytes_of<std::uint16_t>({0x3c00, 0x4000, 0x4200, 0x0001}) +
                           bytes_of<std::uint16_t>({0x3f80, 0x4000, 0x4040, 0xbf80});
  const auto container = open_container(write("m.safetensors", safetensors(header, data)));
  const auto expect = [&](const char* name, double last) {
    const Matrix read = rows(*container, name, 0, 2, 2);
    EXPECT_EQ(read(0, 0), 1.0) << name;
    EXPECT_EQ(read(0, 1), 2.0) << name;
    EXPECT_EQ(read(1, 0), 3.0) << name;
    EXPECT_EQ(read(1, 1), last) << name;
  };
  expect("d", 0.1);
  expect("s", double{0.1F});
  expect("h", 0x1p-24);
  expect("b", -1.0);
  EXPECT_EQ(container->format(), "safetensors");
  EXPECT_EQ(container->files(), std::vector<std::string>{at("m.safetensors")});
  EXPECT_EQ(container->find("h")->offset, 8 + header.size() + 48);
  EXPECT_EQ(container->find("absent"), nullptr);
}

TEST_F(Safetensors, ReadsPartsIntoViewsOfAnyStride) {
  const std::string header = "{" + entry("w", "F32", "[3,2]", "[0,24]") + "," +
                             entry("v", "F32", "[4]", "[24,40]") + "," + entry("s", "F32", "[]", "[40,44]") +
                             "," + entry("t", "F32", "[2,1,2]", "[44,60]") + "}";
  const auto container = open_container(
      write("m.safetensors",
            safetensors(header, bytes_of<float>({1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 20, 30, 31, 32, 33}))));
  Matrix wide = Matrix::Constant(4, 5, -7);
  container->read_rows(*container->find("w"), 1, 2, wide.block(1, 2, 2, 2));
  Matrix expected = Matrix::Constant(4, 5, -7);
  expected.block(1, 2, 2, 2) << 3, 4, 5, 6;
  EXPECT_EQ(wide, expected);
  Matrix entries(1, 2);
  container->read_rows(*container->find("v"), 1, 2, entries);
  EXPECT_EQ(entries, (Matrix(1, 2) << 11, 12).finished());
  EXPECT_EQ(rows(*container, "s", 0, 1, 1)(0, 0), 20);
  EXPECT_EQ(rows(*container, "t", 1, 1, 2), (Matrix(1, 2) << 32, 33).finished());
}

TEST_F(Safetensors, LongTensorsAreReadInPieces) {
  // Rows of 1,500,001 bfloat16: neither rows nor tensor are a multiple of the 4 MiB buffer.
  constexpr std::int64_t kColumns = 1'500'001;
  constexpr std::int64_t kRows = 3;
  std::vector<std::uint16_t> stored(static_cast<std::size_t>(kRows * kColumns));
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::uint16_t>(i % 0x7f00);
  const std::string header = "{" + entry("w", "BF16", "[3,1500001]", "[0,9000006]") + "}";
  const auto container = open_container(write("m.safetensors", safetensors(header, bytes_of(stored))));
  const Matrix read = rows(*container, "w", 0, kRows, kColumns);
  std::size_t n_wrong = 0;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::uint32_t bits = std::uint32_t{stored[i]} << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    n_wrong += read.data()[i] == double{value} ? 0 : 1;
  }
  EXPECT_EQ(n_wrong, 0U);
}

TEST_F(Safetensors, SeveralThreadsReadOneContainer) {
  std::vector<float> stored(64 * 1024);
  for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<float>(i);
  const std::string header = "{" + entry("w", "F32", "[64,1024]", "[0,262144]") + "}";
  const auto container = open_container(write("m.safetensors", safetensors(header, bytes_of(stored))));
  std::array<bool, 4> agree{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < agree.size(); ++t)
    threads.emplace_back([&, t] {
      bool all = true;
      Matrix row(1, 1024);
      for (std::int64_t i = 0; i < 64; ++i) {
        container->read_rows(*container->find("w"), i, 1, row);
        for (Index j = 0; j < 1024; ++j) all = all && row(0, j) == static_cast<double>(i * 1024 + j);
      }
      agree[t] = all;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(agree, (std::array<bool, 4>{true, true, true, true}));
}

TEST_F(Safetensors, NonFiniteEntriesAreReturnedAsTheyAre) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const auto container =
      open_container(write("m.safetensors", safetensors("{" + entry("w", "F32", "[1,2]", "[0,8]") + "}",
                                                        bytes_of<float>({-kInf, std::nanf("")}))));
  const Matrix read = rows(*container, "w", 0, 1, 2);
  EXPECT_EQ(read(0, 0), -double{kInf});
  EXPECT_TRUE(std::isnan(read(0, 1)));
}

TEST_F(Safetensors, MisuseIsAnArgumentError) {
  const auto container =
      open_container(write("m.safetensors", safetensors("{" + entry("w", "F32", "[2,2]", "[0,16]") + "}",
                                                        bytes_of<float>({1, 2, 3, 4}))));
  const TensorEntry& tensor = *container->find("w");
  Matrix out(2, 2);
  EXPECT_THROW(container->read_rows(tensor, -1, 2, out), ArgumentError);
  EXPECT_THROW(container->read_rows(tensor, 1, 2, out), ArgumentError);
  EXPECT_THROW(container->read_rows(tensor, 0, 1, out), ArgumentError);
  EXPECT_THROW(container->read_rows(tensor, 0, 2, out.leftCols(1)), ArgumentError);
  TensorEntry foreign = tensor;
  foreign.file = 1;
  EXPECT_THROW(container->read_rows(foreign, 0, 2, out), ArgumentError);
}

struct Legal {
  const char* name;
  std::string bytes;
  std::size_t n_tensors;
};

TEST_F(Safetensors, UnusualButLegalFilesAreOpened) {
  const std::string one = entry("w", "F32", "[1]", "[0,4]");
  const std::string four(4, '\0');
  const std::vector<Legal> legal{
      {"no tensors", safetensors("{}"), 0},
      {"metadata only", safetensors(R"({"__metadata__":{"format":"pt"}})"), 0},
      {"metadata null", safetensors(R"({"__metadata__":null})"), 0},
      {"space padding", safetensors("{" + one + "}     ", four), 1},
      {"rank 0", safetensors("{" + entry("w", "F32", "[]", "[0,4]") + "}", four), 1},
      {"zero-length tensor", safetensors("{" + entry("w", "F32", "[3,0]", "[0,0]") + "}"), 1},
      {"zero length beside long axes",
       safetensors("{" + entry("w", "F32", "[4294967296,4294967296,0]", "[0,0]") + "}"), 1},
      {"zero-length tensors between others",
       safetensors("{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("z", "F32", "[0]", "[4,4]") + "," +
                       entry("y", "U8", "[0]", "[4,4]") + "," + entry("b", "F32", "[1]", "[4,8]") + "}",
                   four + four),
       4},
      {"tensors in any order",
       safetensors("{" + entry("b", "F32", "[1]", "[4,8]") + "," + entry("a", "F32", "[1]", "[0,4]") + "}",
                   four + four),
       2},
      {"unknown keys of a tensor",
       safetensors(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":[1]}})", four), 1},
      {"unknown type", safetensors("{" + entry("w", "NF3", "[17]", "[0,4]") + "}", four), 1},
      {"four bits, even", safetensors("{" + entry("w", "F4", "[2,4]", "[0,4]") + "}", four), 1},
      {"six bits, whole bytes", safetensors("{" + entry("w", "F6_E2M3", "[4]", "[0,3]") + "}", "abc"), 1},
      {"name beyond ASCII", safetensors("{" + entry("\xc3\xa9", "F32", "[1]", "[0,4]") + "}", four), 1},
      // 0x0280 = 640: the length begins with the bytes of a pickle.
      {"length like a pickle's magic",
       safetensors("{" + one + "}" + std::string(640 - one.size() - 2, ' '), four), 1},
  };
  for (const Legal& file : legal) {
    SCOPED_TRACE(file.name);
    const auto container = open_container(write("m.safetensors", file.bytes));
    EXPECT_EQ(container->tensors().size(), file.n_tensors);
    EXPECT_TRUE(container->notes().empty());
  }
}

TEST_F(Safetensors, MetadataIsKept) {
  const auto container =
      open_container(write("m.safetensors", safetensors(R"({"__metadata__":{"format":"pt","step":"3"}})")));
  EXPECT_EQ(container->metadata(), (std::map<std::string, std::string>{{"format", "pt"}, {"step", "3"}}));
}

TEST_F(Safetensors, AZeroLengthTensorReadsAsNothing) {
  const auto container =
      open_container(write("m.safetensors", safetensors("{" + entry("w", "F32", "[3,0]", "[0,0]") + "}")));
  EXPECT_EQ(container->find("w")->elements(), 0);
  Matrix out(3, 0);
  container->read_rows(*container->find("w"), 0, 3, out);
}

TEST_F(Safetensors, ATypeThatIsNotReadIsRefusedOnlyWhenItIsRead) {
  for (const char* name : {"F8_E4M3", "I32", "BOOL", "NF3"}) {
    SCOPED_TRACE(name);
    const auto container = open_container(write(
        "m.safetensors", safetensors("{" + entry("w", name, name[0] == 'I' ? "[1]" : "[4]", "[0,4]") + "}",
                                     "\x01\x02\x03\x04")));
    const TensorEntry& tensor = *container->find("w");
    EXPECT_FALSE(tensor.dtype.readable);
    EXPECT_EQ(tensor.dtype.name, name);
    Matrix out(1, tensor.elements());
    try {
      container->read_rows(tensor, 0, tensor.elements(), out);
      ADD_FAILURE();
    } catch (const CheckpointError& error) {
      EXPECT_EQ(error.fault(), FileFault::unsupported);
      EXPECT_EQ(error.place().item, "w");
      EXPECT_NE(error.reason().find(name), std::string::npos);
    }
  }
}

TEST(Dtypes, SizesAndPrecisions) {
  EXPECT_EQ(dtype_named("F64").unit_roundoff, 0x1p-53);
  EXPECT_EQ(dtype_named("F32").unit_roundoff, 0x1p-24);
  EXPECT_EQ(dtype_named("F16").unit_roundoff, 0x1p-11);
  EXPECT_EQ(dtype_named("BF16").unit_roundoff, 0x1p-8);
  EXPECT_EQ(dtype_named("F8_E4M3FNUZ").bits, 8);
  EXPECT_FALSE(dtype_named("F8_E4M3FNUZ").readable);
  EXPECT_EQ(dtype_named("C64").bits, 64);
  EXPECT_EQ(dtype_named("f32").bits, 0);
}

// Files that change under the reader.
class ChangingFile : public Safetensors {
 protected:
  std::unique_ptr<Container> open() const {
    return open_container(write(
        "m.safetensors",
        safetensors("{" + entry("w", "F32", "[1000,10]", "[0,40000]") + "}", std::string(40000, '\1'))));
  }
  static CheckpointError error_of(const Container& container) {
    Matrix out(1000, 10);
    try {
      container.read_rows(*container.find("w"), 0, 1000, out);
    } catch (const CheckpointError& error) {
      return error;
    }
    throw std::logic_error("the change went unnoticed");
  }
};

TEST_F(ChangingFile, TruncatedWhileOpen) {
  const auto container = open();
  fs::resize_file(at("m.safetensors"), 20000);
  const CheckpointError error = error_of(*container);
  EXPECT_EQ(error.fault(), FileFault::truncated);
  EXPECT_EQ(error.place().item, "w");
  EXPECT_EQ(error.place().path, at("m.safetensors"));
}

TEST_F(ChangingFile, ReplacedWhileOpen) {
  const auto container = open();
  fs::copy_file(at("m.safetensors"), at("new"));
  fs::rename(at("new"), at("m.safetensors"));
  EXPECT_EQ(error_of(*container).fault(), FileFault::refused);
}

TEST_F(ChangingFile, RewrittenWhileOpen) {
  const auto container = open();
  std::fstream(at("m.safetensors"), std::ios::in | std::ios::out | std::ios::binary).seekp(5000) << "other";
  fs::last_write_time(at("m.safetensors"),
                      fs::last_write_time(at("m.safetensors")) + std::chrono::seconds(10));
  EXPECT_EQ(error_of(*container).fault(), FileFault::refused);
}

#ifdef HEADSPAN_SHARED_DIR
TEST(GenuineFiles, StoriesHoldsWhatItsReadmeSays) {
  const std::string path = HEADSPAN_SHARED_DIR "/checkpoints/stories260K.safetensors";
  if (!fs::exists(path)) GTEST_SKIP() << "no shared checkpoints at " << path;
  const auto container = open_container(path);
  const TensorEntry* query = container->find("model.layers.0.self_attn.q_proj.weight");
  ASSERT_NE(query, nullptr);
  EXPECT_EQ(query->shape, (std::vector<std::int64_t>{64, 64}));
  EXPECT_EQ(query->dtype.name, "F32");
  Matrix weight(64, 64);
  container->read_rows(*query, 0, 64, weight);
  // The same element by other means: one float at the offset that the header gives.
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(query->offset + 4 * (63 * 64 + 1)));
  float element = 0;
  stream.read(reinterpret_cast<char*>(&element), sizeof(element));
  EXPECT_EQ(weight(63, 1), double{element});
  EXPECT_TRUE(weight.allFinite());
  EXPECT_GT(weight.norm(), 0.0);
}
#endif

}  // namespace
}  // namespace headspan::checkpoint
