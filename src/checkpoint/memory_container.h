#pragma once
// For tests: a checkpoint in memory, and a folder that removes itself.

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "headspan/checkpoint/container.h"

namespace headspan::checkpoint {

class MemoryContainer : public Container {
 public:
  explicit MemoryContainer(std::string path) : path_(std::move(path)) {}

  /// A matrix with entries of(row, column).
  void add(const std::string& name, std::int64_t rows, std::int64_t cols,
           const std::function<double(std::int64_t, std::int64_t)>& of) {
    Matrix values(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j) values(i, j) = of(i, j);
    add(name, values);
  }
  void add(const std::string& name, const Matrix& values) {
    insert(name, {values.rows(), values.cols()});
    values_[name] = values;
  }
  void add_vector(const std::string& name, const Vector& values) {
    insert(name, {values.size()});
    values_[name] = values.transpose();
  }
  void set_dtype(const std::string& name, const Dtype& dtype) { tensors_.at(name).dtype = dtype; }
  void remove(const std::string& name) { tensors_.erase(name); }

  const std::string& path() const override { return path_; }
  std::string format() const override { return "memory"; }
  const std::vector<std::string>& files() const override { return files_; }
  const std::map<std::string, TensorEntry>& tensors() const override { return tensors_; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  void read_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count,
                 MatrixSpan out) const override {
    const Matrix& all = values_.at(tensor.name);
    largest_read_ = std::max(largest_read_, static_cast<std::int64_t>(out.size()));
    if (tensor.shape.size() == 1)
      out = all.middleCols(first, count);
    else
      out = all.middleRows(first, count);
  }
  /// Entries of the largest single read so far.
  std::int64_t largest_read() const { return largest_read_; }

 private:
  void insert(const std::string& name, std::vector<std::int64_t> shape) {
    TensorEntry entry;
    entry.name = name;
    entry.dtype = {"BF16", 16, true, 0x1p-8};
    entry.shape = std::move(shape);
    tensors_[name] = entry;
  }

  std::string path_;
  std::vector<std::string> files_, notes_;
  std::map<std::string, TensorEntry> tensors_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Matrix> values_;
  mutable std::int64_t largest_read_ = 0;
};

/// A new empty folder, removed with everything in it.
class TestFolder {
 public:
  TestFolder() {
    std::random_device random;
    path_ = std::filesystem::temp_directory_path() / ("headspan-test-" + std::to_string(random()));
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace headspan::checkpoint
