// Head counts: where they come from, and what contradicts the shapes.

#include "checkpoint/counts.h"

#include <gtest/gtest.h>

#include "checkpoint/model_fixture.h"

namespace headspan::checkpoint {
namespace {

using CountsTest = ModelTest;

TEST_F(CountsTest, EveryCountHasItsOrigin) {
  config(kLlama);
  add_llama_layer("model.layers.0.");
  const Model model = open();
  EXPECT_EQ(model.n_heads(), 8);
  EXPECT_EQ(model.n_kv_heads(), 2);
  EXPECT_EQ(model.head_dim(), 4);
  EXPECT_EQ(model.origin().at("n_heads"), "config.json: num_attention_heads");
  EXPECT_EQ(model.origin().at("n_kv_heads"), "config.json: num_key_value_heads");
  EXPECT_EQ(model.origin().at("head_dim"), "class default of llama: d_model/n_heads");
  EXPECT_EQ(model.origin().at("d_model"), "config.json: hidden_size");
  EXPECT_EQ(model.prefixes(), (std::vector<std::string>{"model."}));
  EXPECT_EQ(model.layout_code(), "SEP");
}

TEST_F(CountsTest, FlagsComeBeforeTheConfiguration) {
  config(kLlama);
  add_llama_layer("model.layers.0.", {4, 1, 8, 32});
  options_.n_heads = 4;
  options_.n_kv_heads = 1;
  const Model model = open();
  EXPECT_EQ(model.n_heads(), 4);
  EXPECT_EQ(model.head_dim(), 8);
  EXPECT_EQ(model.origin().at("n_heads"), "--heads");
  EXPECT_EQ(model.origin().at("n_kv_heads"), "--kv-heads");
}

TEST_F(CountsTest, ConfigurationNamedAfterALoneFileComesFirst) {
  config(R"({"model_type":"llama","num_attention_heads":4})");
  folder_.write("small.config.json", kLlama);
  file_ = std::make_unique<MemoryContainer>(folder_.path() + "/small.safetensors");
  add_llama_layer("model.layers.0.");
  EXPECT_EQ(open().origin().at("n_heads"), "small.config.json: num_attention_heads");
}

TEST_F(CountsTest, NestedSectionsAreRead) {
  config(
      R"({"model_type":"llava","text_config":{"model_type":"mistral","hidden_size":32,"num_attention_heads":8,
            "num_key_value_heads":2},"vision_config":{"num_attention_heads":16,"hidden_size":64}})");
  add_llama_layer("language_model.model.layers.0.");
  const Model model = open();
  EXPECT_EQ(model.n_heads(), 8);
  EXPECT_EQ(model.origin().at("n_heads"), "config.json: text_config.num_attention_heads");
  EXPECT_EQ(model.origin().at("head_dim"), "class default of mistral: d_model/n_heads");
}

TEST_F(CountsTest, SectionsInsideSectionsAreRead) {
  config(R"({"model_type":"qwen2_5_omni","thinker_config":{"model_type":"qwen2_5_omni_thinker","text_config":
            {"model_type":"qwen2","hidden_size":32,"num_attention_heads":8,"num_key_value_heads":2}}})");
  add_llama_layer("thinker.model.layers.0.");
  const Model model = open();
  EXPECT_EQ(model.n_heads(), 8);
  EXPECT_EQ(model.origin().at("n_heads"), "config.json: thinker_config.text_config.num_attention_heads");
}

TEST_F(CountsTest, AbsentKeysTakeClassDefaultsAndNotDOverH) {
  config(R"({"model_type":"gemma3","text_config":{"model_type":"gemma3_text","hidden_size":40}})");
  add_llama_layer("language_model.model.layers.0.", {8, 4, 256, 40});
  const Model model = open();
  EXPECT_EQ(model.n_heads(), 8);
  EXPECT_EQ(model.n_kv_heads(), 4);
  EXPECT_EQ(model.head_dim(), 256);
  EXPECT_EQ(model.origin().at("head_dim"), "class default of gemma3_text");
}

TEST_F(CountsTest, ExplicitNullsTakeClassDefaults) {
  config(
      R"({"model_type":"llama","hidden_size":32,"num_attention_heads":8,"num_key_value_heads":null,"head_dim":null})");
  add_llama_layer("model.layers.0.", {8, 8, 4, 32});
  const Model model = open();
  EXPECT_EQ(model.n_kv_heads(), 8);
  EXPECT_EQ(model.origin().at("n_kv_heads"), "class default of llama: n_heads");
}

TEST_F(CountsTest, MistralNullMeansNoGroupingButAbsenceMeansEight) {
  const std::string start = R"({"model_type":"mistral","hidden_size":64,"num_attention_heads":16)";
  config(start + R"(,"num_key_value_heads":null})");
  add_llama_layer("model.layers.0.", {16, 16, 4, 64});
  EXPECT_EQ(open().n_kv_heads(), 16);
  SetUp();
  config(start + "}");
  add_llama_layer("model.layers.0.", {16, 8, 4, 64});
  EXPECT_EQ(open().n_kv_heads(), 8);
  SetUp();
  add_llama_layer("model.layers.0.", {16, 16, 4, 64});
  EXPECT_TRUE(mentions(refusal(), {"n_kv_heads = 8 (class default of mistral)", "holds 64"}));
}

TEST_F(CountsTest, WithoutConfigurationFlagsAreAskedFor) {
  add_llama_layer("model.layers.0.");
  EXPECT_TRUE(mentions(refusal(), {"--heads", "--config", "= 32"}));
}

TEST_F(CountsTest, WithHeadsGivenShapesFixTheRest) {
  add_llama_layer("model.layers.0.", {8, 2, 6, 32});
  options_.n_heads = 8;
  const Model model = open();
  EXPECT_EQ(model.head_dim(), 6);
  EXPECT_EQ(model.n_kv_heads(), 2);
  EXPECT_TRUE(mentions(model.origin().at("head_dim"), {"shapes"}));
}

TEST_F(CountsTest, PerHeadQueryNormFixesHeadDim) {
  add_llama_layer("model.layers.0.", {8, 2, 6, 32});
  file_->add_vector("model.layers.0.self_attn.q_norm.weight", Vector::LinSpaced(6, 1, 2));
  file_->add_vector("model.layers.0.self_attn.k_norm.weight", Vector::LinSpaced(6, 3, 4));
  const Model model = open();
  EXPECT_EQ(model.n_heads(), 8);
  EXPECT_EQ(model.layers()[0].qk_norm, "per_head");
  const LayerHeads heads = model.read(0);
  ASSERT_EQ(heads.query_gain.size(), 48);
  ASSERT_EQ(heads.key_gain.size(), 12);
  EXPECT_EQ(heads.query_gain.segment(42, 6), Vector::LinSpaced(6, 1, 2));
  EXPECT_EQ(heads.key_gain.segment(6, 6), Vector::LinSpaced(6, 3, 4));
}

TEST_F(CountsTest, QueryNormOverAllHeadsKeepsItsOwnGains) {
  config(R"({"model_type":"olmo2","hidden_size":32,"num_attention_heads":8,"num_key_value_heads":2})");
  add_llama_layer("model.layers.0.");
  file_->add_vector("model.layers.0.self_attn.q_norm.weight", Vector::LinSpaced(32, 1, 2));
  file_->add_vector("model.layers.0.self_attn.k_norm.weight", Vector::LinSpaced(8, 3, 4));
  const Model model = open();
  EXPECT_EQ(model.layers()[0].qk_norm, "all_heads");
  EXPECT_EQ(model.read(0).query_gain, Vector::LinSpaced(32, 1, 2));
  EXPECT_EQ(model.read(0).key_gain, Vector::LinSpaced(8, 3, 4));
}

TEST_F(CountsTest, GemmaGainsAreStoredMinusOne) {
  config(
      R"({"model_type":"gemma3_text","hidden_size":32,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":4})");
  add_llama_layer("model.layers.0.");
  file_->add_vector("model.layers.0.self_attn.q_norm.weight", Vector::Constant(4, 0.5));
  EXPECT_EQ(open().read(0).query_gain, Vector::Constant(32, 1.5));
}

TEST_F(CountsTest, QueryNormOfAnotherLengthIsRefused) {
  config(kLlama);
  add_llama_layer("model.layers.0.");
  file_->add_vector("model.layers.0.self_attn.q_norm.weight", Vector::Ones(5));
  EXPECT_TRUE(mentions(refusal(), {"q_norm.weight [5]", "head_dim = 4"}));
}

// LLM-Shearing issue 29: configuration of 32 key/value heads, weights of 16.
TEST_F(CountsTest, KeyHeadsOfConfigurationAgainstWeights) {
  config(R"({"model_type":"llama","hidden_size":128,"num_attention_heads":32,"num_key_value_heads":32})");
  add_llama_layer("model.layers.0.", {32, 16, 4, 128});
  EXPECT_TRUE(mentions(refusal(), {"n_kv_heads = 32 (config.json: num_key_value_heads)", "16 heads",
                                   "k_proj.weight [64, 128]", "--kv-heads"}));
}

TEST_F(CountsTest, SevenHeadsOverTwoKeyHeads) {
  config(R"({"model_type":"llama","hidden_size":28,"num_attention_heads":7,"num_key_value_heads":2})");
  add_llama_layer("model.layers.0.", {7, 2, 4, 28});
  EXPECT_TRUE(mentions(refusal(), {"7 heads cannot share 2"}));
}

TEST_F(CountsTest, HeadDimOtherThanDOverHMustBeStated) {
  add_llama_layer("model.layers.0.", {8, 2, 6, 32});
  config(
      R"({"model_type":"llama","hidden_size":32,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":6})");
  EXPECT_EQ(open().head_dim(), 6);
  SetUp();
  add_llama_layer("model.layers.0.", {8, 2, 6, 32});
  config(kLlama);
  EXPECT_TRUE(mentions(refusal(), {"head_dim = 4 (class default of llama", "q_proj.weight [48, 32]"}));
}

TEST_F(CountsTest, ImpossibleConfigurationValues) {
  const std::vector<std::pair<std::string, std::string>> values = {{"0", "between 1"},
                                                                   {"-8", "between 1"},
                                                                   {"8.5", "whole number"},
                                                                   {"[8,8]", "list"},
                                                                   {"\"8\"", "whole number"},
                                                                   {"true", "whole number"},
                                                                   {"99999999999999999999", "whole number"},
                                                                   {"4611686018427387904", "between 1"}};
  for (const auto& [value, rule] : values) {
    SetUp();
    config(R"({"model_type":"llama","hidden_size":32,"num_attention_heads":)" + value + "}");
    add_llama_layer("model.layers.0.");
    EXPECT_TRUE(mentions(refusal(), {"num_attention_heads", rule})) << value;
  }
}

TEST_F(CountsTest, LargestCountsDoNotOverflow) {
  config(
      R"({"model_type":"llama","num_attention_heads":1073741824,"num_key_value_heads":1073741824,"head_dim":1073741824})");
  add_llama_layer("model.layers.0.");
  EXPECT_TRUE(mentions(refusal(), {"needs 1152921504606846976 rows"}));
}

TEST_F(CountsTest, AbsurdLayerCountIsRefused) {
  config(R"({"model_type":"llama","num_attention_heads":8,"num_hidden_layers":1000000000})");
  add_llama_layer("model.layers.0.");
  EXPECT_TRUE(mentions(refusal(), {"1000000000"}));
}

TEST_F(CountsTest, TwoNamesOfOneCountMustAgree) {
  config(R"({"model_type":"llama","num_attention_heads":8,"n_head":4})");
  add_llama_layer("model.layers.0.");
  EXPECT_TRUE(mentions(refusal(), {"n_head", "num_attention_heads is 8"}));
}

TEST_F(CountsTest, ImpossibleFlags) {
  add_llama_layer("model.layers.0.");
  options_.n_heads = 0;
  EXPECT_THROW(open(), ArgumentError);
}

TEST_F(CountsTest, WidthOfConfigurationAgainstWeights) {
  config(
      R"({"model_type":"llama","hidden_size":64,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":4})");
  add_llama_layer("model.layers.0.");
  EXPECT_TRUE(mentions(refusal(), {"d_model = 64", "width of 32"}));
}

}  // namespace
}  // namespace headspan::checkpoint
