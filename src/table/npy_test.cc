#include "headspan/table/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "headspan/numeric/error.h"

namespace headspan::table {
namespace {

namespace fs = std::filesystem;

class Npy : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("headspan_npy_" + std::to_string(::getpid()) + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& bytes) const {
    const std::string path = (folder_ / "array.npy").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  fs::path folder_;
};

std::string header(const std::string& dict, int version = 1) {
  std::string text = dict;
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return bytes + text;
}

template <class T>
std::string elements(const std::vector<T>& values, bool swapped = false) {
  std::string bytes;
  for (const T value : values) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    if (swapped) std::reverse(raw, raw + sizeof(T));
    bytes.append(raw, sizeof(T));
  }
  return bytes;
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

Matrix counting() {
  Matrix matrix(2, 3);
  matrix << 1, 2, 3, 4, 5, 6;
  return matrix;
}

TEST_F(Npy, ReadsBothOrdersPrecisionsAndByteOrders) {
  const std::vector<double> rows{1, 2, 3, 4, 5, 6};
  const std::vector<float> rows_f4{1, 2, 3, 4, 5, 6};
  const std::vector<double> columns{1, 4, 2, 5, 3, 6};
  EXPECT_EQ(read_npy(write(header(dict("<f8", "(2, 3)")) + elements(rows))), counting());
  EXPECT_EQ(read_npy(write(header(dict("<f4", "(2, 3)")) + elements(rows_f4))), counting());
  EXPECT_EQ(read_npy(write(header(dict(">f8", "(2, 3)")) + elements(rows, true))), counting());
  EXPECT_EQ(read_npy(write(header(dict(">f4", "(2, 3)")) + elements(rows_f4, true))), counting());
  EXPECT_EQ(read_npy(write(header(dict("<f8", "(2, 3)", "True")) + elements(columns))), counting());
}

TEST_F(Npy, ReadsEveryVersionAndSpelling) {
  const std::string data = elements<double>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(read_npy(write(header(dict("<f8", "(2, 3)"), 2) + data)), counting());
  EXPECT_EQ(read_npy(write(header(dict("<f8", "(2, 3)"), 3) + data)), counting());
  EXPECT_EQ(read_npy(write(header(dict("<f8", "(2L, 3L)")) + data)), counting());
  EXPECT_EQ(read_npy(write(header(R"({"shape":(2,3),"fortran_order":False,"descr":"<f8"})") + data)),
            counting());
}

TEST_F(Npy, KeepsNonFiniteEntriesAndSubnormals) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  const Matrix read =
      read_npy(write(header(dict("<f8", "(1, 4)")) + elements<double>({std::nan(""), kInf, -kInf, kTiny})));
  EXPECT_TRUE(std::isnan(read(0, 0)));
  EXPECT_EQ(read(0, 1), kInf);
  EXPECT_EQ(read(0, 2), -kInf);
  EXPECT_EQ(read(0, 3), kTiny);
}

TEST_F(Npy, AnEmptyMatrixKeepsItsShape) {
  const Matrix read = read_npy(write(header(dict("<f8", "(0, 5)"))));
  EXPECT_EQ(read.rows(), 0);
  EXPECT_EQ(read.cols(), 5);
}

struct NpyDefect {
  const char* name;
  std::string bytes;
  FileFault fault;
  std::optional<std::uint64_t> offset;
};

std::vector<NpyDefect> npy_defects() {
  const std::string good = header(dict("<f8", "(2, 3)"));
  const std::string data = elements<double>({1, 2, 3, 4, 5, 6});
  const std::uint64_t end = good.size() + data.size();
  return {
      {"empty file", "", FileFault::truncated, 0},
      {"another format", "PK\x03\x04 not an array", FileFault::malformed, 0},
      {"ends in the magic", "\x93NUM", FileFault::malformed, 0},
      {"ends in the length", good.substr(0, 9), FileFault::truncated, 9},
      {"ends in the header", good.substr(0, 40), FileFault::truncated, 40},
      {"version 4", header(dict("<f8", "(2, 3)"), 4) + data, FileFault::unsupported, 6},
      {"one byte short", (good + data).substr(0, end - 1), FileFault::truncated, end - 1},
      {"one byte long", good + data + "x", FileFault::malformed, end},
      {"object array", header(dict("|O", "(2, 3)")) + data, FileFault::unsupported, {}},
      {"integers", header(dict("<i8", "(2, 3)")) + data, FileFault::unsupported, {}},
      {"half precision", header(dict("<f2", "(2, 3)")) + data, FileFault::unsupported, {}},
      {"bfloat16 as raw bytes", header(dict("|V2", "(2, 3)")) + data, FileFault::unsupported, {}},
      {"structured", header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }") + data,
       FileFault::unsupported, 20},
      {"scalar", header(dict("<f8", "()")) + elements<double>({1}), FileFault::unsupported, {}},
      {"one axis", header(dict("<f8", "(6,)")) + data, FileFault::unsupported, {}},
      {"three axes", header(dict("<f8", "(1, 2, 3)")) + data, FileFault::unsupported, {}},
      {"negative length", header(dict("<f8", "(-2, 3)")) + data, FileFault::malformed, 61},
      {"length beyond 64 bits",
       header(dict("<f8", "(99999999999999999999, 3)")) + data,
       FileFault::malformed,
       {}},
      {"product beyond 64 bits",
       header(dict("<f8", "(4294967296, 4294967296)")) + data,
       FileFault::malformed,
       {}},
      {"no shape", header("{'descr': '<f8', 'fortran_order': False, }") + data, FileFault::malformed, {}},
      {"shape twice",
       header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'shape': (3, 2)}") + data,
       FileFault::malformed,
       {}},
      {"unknown key",
       header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'x': 1}") + data,
       FileFault::malformed,
       {}},
      {"order in quotes",
       header("{'descr': '<f8', 'fortran_order': 'False', 'shape': (2, 3)}") + data,
       FileFault::malformed,
       {}},
      {"trailing words", header(dict("<f8", "(2, 3)") + " and more") + data, FileFault::malformed, {}},
  };
}

TEST_F(Npy, EachNpyDefectIsNamed) {
  for (const NpyDefect& defect : npy_defects()) {
    SCOPED_TRACE(defect.name);
    const std::string path = write(defect.bytes);
    try {
      read_npy(path);
      ADD_FAILURE() << "it was accepted";
    } catch (const DataError& error) {
      EXPECT_EQ(error.fault(), defect.fault) << error.what();
      EXPECT_EQ(error.place().path, path);
      if (defect.offset) {
        EXPECT_EQ(error.place().offset, defect.offset) << error.what();
      }
    }
  }
}

TEST_F(Npy, NoFileAndAFolder) {
  try {
    read_npy((folder_ / "absent.npy").string());
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_EQ(error.fault(), FileFault::missing);
  }
  try {
    read_npy(folder_.string());
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_EQ(error.fault(), FileFault::unreadable);
  }
}

}  // namespace
}  // namespace headspan::table
