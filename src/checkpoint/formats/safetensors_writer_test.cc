#include <cstring>
#include <sstream>

#include "checkpoint/safetensors_fixture.h"
#include "headspan/checkpoint/container.h"
#include "headspan/checkpoint/write_safetensors.h"

namespace headspan::checkpoint {
namespace {

using fixture::bytes_of;

class SafetensorsWriter : public fixture::FolderTest {};

std::string written(const std::vector<TensorBytes>& tensors,
                    const std::map<std::string, std::string>& metadata = {}) {
  std::ostringstream out;
  write_safetensors(out, tensors, metadata);
  return out.str();
}

TEST_F(SafetensorsWriter, TheReaderReadsBackWhatWasWritten) {
  const std::string doubles = bytes_of<double>({1.5, -2.0, 1e-310, 4.0, 5.0, 0.1});
  const std::string floats = bytes_of<float>({0.25F, -3.0F});
  const std::string path = write("m.safetensors", written({{"b", "F64", {2, 3}, doubles},
                                                           {"a \"quoted\" name", "F32", {2}, floats},
                                                           {"none", "F64", {0, 3}, {}}},
                                                          {{"key", "line\nbreak \xc3\xa9"}}));
  const auto container = open_container(path);
  EXPECT_EQ(container->metadata().at("key"), "line\nbreak \xc3\xa9");
  Matrix b(2, 3), a(1, 2);
  container->read_rows(*container->find("b"), 0, 2, b);
  container->read_rows(*container->find("a \"quoted\" name"), 0, 2, a);
  EXPECT_EQ(b, (Matrix(2, 3) << 1.5, -2.0, 1e-310, 4.0, 5.0, 0.1).finished());
  EXPECT_EQ(a, (Matrix(1, 2) << 0.25, -3.0).finished());
  EXPECT_EQ(container->find("none")->shape, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(container->find("b")->offset % 8, 0u);
}

TEST_F(SafetensorsWriter, NothingAtAllIsAFile) {
  const auto container = open_container(write("m.safetensors", written({})));
  EXPECT_TRUE(container->tensors().empty());
}

TEST_F(SafetensorsWriter, Misuse) {
  const std::string four = bytes_of<float>({1.0F});
  EXPECT_THROW(written({{"", "F32", {1}, four}}), ArgumentError);
  EXPECT_THROW(written({{"__metadata__", "F32", {1}, four}}), ArgumentError);
  EXPECT_THROW(written({{"a", "F32", {1}, four}, {"a", "F32", {1}, four}}), ArgumentError);
  EXPECT_THROW(written({{"a", "F9", {1}, four}}), ArgumentError);
  EXPECT_THROW(written({{"a", "F32", {2}, four}}), ArgumentError);
  EXPECT_THROW(written({{"a\xff", "F32", {1}, four}}), ArgumentError);
}

}  // namespace
}  // namespace headspan::checkpoint
