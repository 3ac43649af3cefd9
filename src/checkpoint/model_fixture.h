#pragma once
// For tests: a file in memory with its configuration, opened as a Model.

#include <gtest/gtest.h>

#include "checkpoint/memory_container.h"
#include "headspan/checkpoint/model.h"

namespace headspan::checkpoint {

inline testing::AssertionResult mentions(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (text.find(part) == std::string::npos)
      return testing::AssertionFailure() << "\"" << text << "\" does not mention \"" << part << "\"";
  return testing::AssertionSuccess();
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

inline double weight_entry(std::int64_t i, std::int64_t j) {
  return 1.0 + 0.25 * static_cast<double>(i) - 0.5 * static_cast<double>(j);
}

struct Sizes {
  std::int64_t n_heads = 8, n_kv_heads = 2, head_dim = 4, d_model = 32;
};

/// A file and its configuration, opened as a Model.
class ModelTest : public testing::Test {
 protected:
  void SetUp() override { file_ = std::make_unique<MemoryContainer>(folder_.path()); }

  void add_llama_layer(const std::string& layer, Sizes s = {}) {
    file_->add(layer + "self_attn.q_proj.weight", s.n_heads * s.head_dim, s.d_model, weight_entry);
    file_->add(layer + "self_attn.k_proj.weight", s.n_kv_heads * s.head_dim, s.d_model, weight_entry);
    file_->add(layer + "self_attn.v_proj.weight", s.n_kv_heads * s.head_dim, s.d_model, weight_entry);
    file_->add(layer + "self_attn.o_proj.weight", s.d_model, s.n_heads * s.head_dim, weight_entry);
  }
  void add_square_layer(const std::string& base, const std::vector<std::string>& names,
                        std::int64_t rows = 32) {
    for (const std::string& name : names)
      name == names.back() ? file_->add(base + name + ".weight", 32, rows, weight_entry)
                           : file_->add(base + name + ".weight", rows, 32, weight_entry);
  }
  void config(const std::string& json) { folder_.write("config.json", json); }
  Model open() { return Model(std::move(file_), options_); }

  /// The message with which the file is refused, and checks that it is a CheckpointError of that fault.
  std::string refusal(FileFault fault = FileFault::refused) {
    try {
      const Model model = open();
      ADD_FAILURE() << "accepted as " << model.layout().name;
      return {};
    } catch (const CheckpointError& error) {
      EXPECT_EQ(error.fault(), fault) << error.what();
      return error.what();
    }
  }

  TestFolder folder_;
  ModelOptions options_;
  std::unique_ptr<MemoryContainer> file_;
};

inline const std::string kLlama =
    R"({"model_type":"llama","hidden_size":32,"num_hidden_layers":1,"num_attention_heads":8,"num_key_value_heads":2})";

}  // namespace headspan::checkpoint
