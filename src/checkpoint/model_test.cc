// Layers, prefixes, norms and hazards.

#include "headspan/checkpoint/model.h"

#include <gtest/gtest.h>

#include <set>

#include "checkpoint/model_fixture.h"

namespace headspan::checkpoint {
namespace {

TEST_F(ModelTest, OneContradictoryLayerIsARow) {
  config(R"({"model_type":"llama","hidden_size":32,"num_attention_heads":8,"num_key_value_heads":2})");
  add_llama_layer("model.layers.0.");
  add_llama_layer("model.layers.1.", {6, 2, 4, 32});
  const Model model = open();
  EXPECT_EQ(model.layers()[0].reason, "");
  EXPECT_TRUE(mentions(model.layers()[1].reason, {"n_heads = 8", "[24, 32]"}));
  EXPECT_THROW(model.read(1), CheckpointError);
  EXPECT_EQ(model.read(0).query.n_heads, 8);
}

TEST_F(ModelTest, PromisedLayersKeepARow) {
  config(
      R"({"model_type":"llama","hidden_size":32,"num_hidden_layers":3,"num_attention_heads":8,"num_key_value_heads":2})");
  add_llama_layer("model.layers.0.");
  add_llama_layer("model.layers.1.");
  file_->remove("model.layers.1.self_attn.v_proj.weight");
  const Model model = open();
  ASSERT_EQ(model.layers().size(), 3u);
  EXPECT_TRUE(mentions(model.layers()[1].reason, {"model.layers.1.self_attn.v_proj.weight not in the file"}));
  EXPECT_TRUE(mentions(model.layers()[2].reason, {"num_hidden_layers = 3", "nothing named model.layers.2."}));
}

TEST_F(ModelTest, LayersThatAreNoAttentionGetNoRow) {
  config(
      R"({"model_type":"llama","hidden_size":32,"num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":2,
            "layer_types":["linear_attention","full_attention","mamba","sliding_attention"]})");
  add_llama_layer("model.layers.1.");
  const Model model = open();
  ASSERT_EQ(model.layers().size(), 2u);
  EXPECT_EQ(model.layers()[0].layer, 1);
  EXPECT_EQ(model.layers()[1].layer, 3);
  EXPECT_NE(model.layers()[1].reason, "");
}

TEST_F(ModelTest, StoredLayersWithoutAnAttentionModuleAreOfAnotherKind) {
  config(
      R"({"model_type":"llama","hidden_size":32,"num_hidden_layers":6,"num_attention_heads":8,"num_key_value_heads":2})");
  add_llama_layer("model.layers.1.");
  for (const char* layer : {"0", "2", "3"})
    file_->add("model.layers." + std::string(layer) + ".mamba.in_proj.weight", 8, 32, weight_entry);
  // Encoded projections belong to an attention layer; of layer 5 there is nothing.
  file_->add("model.layers.4.self_attn.q_proj.qweight", 8, 32, weight_entry);
  const Model model = open();
  ASSERT_EQ(model.layers().size(), 3u);
  EXPECT_EQ(model.layers()[0].layer, 1);
  EXPECT_TRUE(mentions(model.layers()[1].reason, {"model.layers.4.self_attn.q_proj.qweight"}));
  EXPECT_TRUE(mentions(model.layers()[2].reason, {"nothing named model.layers.5."}));
  ASSERT_FALSE(model.notes().empty());
  EXPECT_TRUE(mentions(model.notes().front(), {"0, 2-3", "model.layers.0.mamba.in_proj.weight"}));
}

TEST_F(ModelTest, UnsupportedTypeIsNamedPerLayer) {
  config(R"({"model_type":"llama","hidden_size":32,"num_attention_heads":8,"num_key_value_heads":2})");
  add_llama_layer("model.layers.0.");
  add_llama_layer("model.layers.1.");
  file_->set_dtype("model.layers.1.self_attn.k_proj.weight", {"F8_E4M3", 8, false, 0.0});
  const Model model = open();
  EXPECT_EQ(model.layers()[0].reason, "");
  EXPECT_TRUE(mentions(model.layers()[1].reason,
                       {"k_proj.weight is stored as F8_E4M3", "convert it to BF16 or F32"}));
}

TEST_F(ModelTest, RoundoffIsThatOfTheStoredType) {
  config(kLlama);
  add_llama_layer("model.layers.0.");
  file_->set_dtype("model.layers.0.self_attn.o_proj.weight", {"F32", 32, true, 0x1p-24});
  const LayerHeads heads = open().read(0);
  EXPECT_EQ(heads.query.unit_roundoff, 0x1p-8);
  EXPECT_EQ(heads.output.unit_roundoff, 0x1p-24);
}

TEST_F(ModelTest, NoAttentionIsExplained) {
  file_->add("model.layers.0.self_attn.q_a_proj.weight", 8, 8, weight_entry);
  file_->add("model.layers.0.mlp.up.weight", 8, 8, weight_entry);
  EXPECT_TRUE(mentions(refusal(), {"Its tensors: model.layers.0.mlp.up.weight [8, 8], ",
                                   "model.layers.N.self_attn.q_a_proj.weight", "--layout-file"}));
  SetUp();
  file_->add("fc1.weight", 8, 8, weight_entry);
  EXPECT_TRUE(mentions(refusal(), {"fc1.weight [8, 8]", "is it the right file"}));
  SetUp();
  EXPECT_TRUE(mentions(refusal(), {"metadata only"}));
}

TEST_F(ModelTest, BadConfigurationFilesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"{\"a\":1,", "config.json"},
      {"<!DOCTYPE html><html>", "HTML"},
      {"{\"n\":1,\"n\":2}", "n"},
      {"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"},
      {"[1]", "object"},
      {"", "empty"}};
  for (const auto& [text, part] : texts) {
    SetUp();
    config(text);
    add_llama_layer("model.layers.0.");
    EXPECT_TRUE(mentions(refusal(FileFault::malformed), {"config.json", part})) << text;
  }
  SetUp();
  options_.config_path = folder_.path() + "/absent.json";
  EXPECT_TRUE(mentions(refusal(FileFault::missing), {"absent.json"}));
}

TEST_F(ModelTest, PrefixesAreStrippedRepeatedly) {
  config(kLlama);
  add_llama_layer("module._orig_mod.base_model.model.model.layers.0.");
  const Model model = open();
  EXPECT_EQ(model.layers()[0].stack, "decoder");
  EXPECT_EQ(model.prefixes(), (std::vector<std::string>{"module._orig_mod.base_model.model.model."}));
}

TEST_F(ModelTest, UnknownPrefixIsTakenOffAndSaid) {
  config(kLlama);
  add_llama_layer("policy.actor.layers.0.");
  const Model model = open();
  EXPECT_EQ(model.prefixes(), (std::vector<std::string>{"policy.actor."}));
  EXPECT_TRUE(mentions(joined(model.notes()), {"policy.actor."}));
}

TEST_F(ModelTest, StudentAndTeacherAreTwoStacks) {
  config(kLlama);
  add_llama_layer("student.model.layers.0.");
  add_llama_layer("teacher.model.layers.0.");
  const Model model = open();
  ASSERT_EQ(model.layers().size(), 2u);
  EXPECT_EQ(model.layers()[0].stack, "student");
  EXPECT_EQ(model.layers()[1].stack, "teacher");
  EXPECT_EQ(model.layers()[1].tensors.at("query"), "teacher.model.layers.0.self_attn.q_proj.weight");
}

TEST_F(ModelTest, EncoderDecoderOfTwoBertsReadsBothSections) {
  const std::vector<std::string> names = {"self.query", "self.key", "self.value", "output.dense"};
  config(
      R"({"model_type":"encoder-decoder","encoder":{"model_type":"bert","num_attention_heads":8,"hidden_size":32},
            "decoder":{"model_type":"bert","num_attention_heads":4,"hidden_size":32}})");
  add_square_layer("encoder.encoder.layer.0.attention.", names);
  add_square_layer("decoder.bert.encoder.layer.0.attention.", names);
  const Model model = open();
  ASSERT_EQ(model.layers().size(), 2u);
  EXPECT_EQ(model.layers()[0].stack, "decoder.bert");
  EXPECT_EQ(model.layers()[0].n_heads, 4);
  EXPECT_EQ(model.layers()[1].stack, "encoder");
  EXPECT_EQ(model.layers()[1].n_heads, 8);
  EXPECT_EQ(model.origin().at("encoder.n_heads"), "config.json: encoder.num_attention_heads");
}

TEST_F(ModelTest, ClipReadsTwoSections) {
  config(R"({"model_type":"clip","text_config":{"hidden_size":32},"vision_config":{"hidden_size":32,
            "num_attention_heads":16}})");
  for (const std::string stack : {"text", "vision"})
    add_square_layer(stack + "_model.encoder.layers.0.self_attn.",
                     {"q_proj", "k_proj", "v_proj", "out_proj"});
  const Model model = open();
  ASSERT_EQ(model.layers().size(), 2u);
  EXPECT_EQ(model.layers()[0].stack, "text");
  EXPECT_EQ(model.layers()[0].n_heads, 8);
  EXPECT_EQ(model.layers()[1].n_heads, 16);
  EXPECT_EQ(model.origin().at("text.n_heads"), "class default of text_config");
  EXPECT_EQ(model.origin().at("vision.n_heads"), "config.json: vision_config.num_attention_heads");
}

TEST_F(ModelTest, TorchAttentionIsFoundAnywhere) {
  for (const std::string path : {"", "module.encoder.layers.4.self_attn.", "decoder.layers.1.self_attn.",
                                 "decoder.layers.1.multihead_attn."}) {
    file_->add(path + "in_proj_weight", 96, 32, weight_entry);
    file_->add(path + "out_proj.weight", 32, 32, weight_entry);
  }
  file_->add("head.out_proj.weight", 32, 32, weight_entry);
  options_.n_heads = 4;
  const Model model = open();
  std::vector<std::string> found;
  for (const LayerPlace& place : model.layers())
    found.push_back(place.stack + "/" + place.attention + "/" + std::to_string(place.layer) + place.reason);
  EXPECT_EQ((std::set<std::string>(found.begin(), found.end())),
            (std::set<std::string>{"attention/self/0", "encoder.layers/self/4", "decoder.layers/self/1",
                                   "decoder.layers/cross/1"}));
  EXPECT_EQ(model.prefixes(), (std::vector<std::string>{"module."}));
}

TEST_F(ModelTest, TorchAttentionNeedsTheHeadCount) {
  file_->add("in_proj_weight", 96, 32, weight_entry);
  file_->add("out_proj.weight", 32, 32, weight_entry);
  EXPECT_TRUE(mentions(refusal(), {"--heads"}));
}

TEST_F(ModelTest, KeysOfAnotherWidth) {
  file_->add("q_proj_weight", 32, 32, weight_entry);
  file_->add("k_proj_weight", 32, 20, weight_entry);
  file_->add("v_proj_weight", 32, 20, weight_entry);
  file_->add("out_proj.weight", 32, 32, weight_entry);
  options_.n_heads = 4;
  const LayerHeads heads = open().read(0);
  EXPECT_EQ(heads.query.width(), 32);
  EXPECT_EQ(heads.key.width(), 20);
}

TEST_F(ModelTest, ValuesMayBeNarrowerThanKeys) {
  config(R"({"model_type":"llama","num_attention_heads":8,"num_key_value_heads":2,"head_dim":4})");
  add_llama_layer("layers.0.");
  file_->add("layers.0.self_attn.v_proj.weight", 2 * 3, 32, weight_entry);
  file_->add("layers.0.self_attn.o_proj.weight", 32, 8 * 3, weight_entry);
  const Model model = open();
  EXPECT_EQ(model.layers()[0].value_dim, 3);
  EXPECT_EQ(model.read(0).output.weight(5, 7), weight_entry(7, 5));
}

TEST_F(ModelTest, SharedBlockCountsItsUses) {
  config(R"({"model_type":"albert","hidden_size":32,"num_attention_heads":8,"num_hidden_layers":12})");
  add_square_layer("albert.encoder.albert_layer_groups.0.albert_layers.0.attention.",
                   {"query", "key", "value", "dense"});
  const Model model = open();
  ASSERT_EQ(model.layers().size(), 1u);
  EXPECT_EQ(model.layers()[0].used_by, 12);
}

TEST_F(ModelTest, PrunedHeadsAreHonouredPerLayer) {
  const std::vector<std::string> names = {"self.query", "self.key", "self.value", "output.dense"};
  config(R"({"model_type":"bert","hidden_size":32,"num_attention_heads":8,"pruned_heads":{"1":[0,5,5]}})");
  add_square_layer("encoder.layer.0.attention.", names);
  add_square_layer("encoder.layer.1.attention.", names, 24);
  const Model model = open();
  EXPECT_EQ(model.layers()[0].n_heads, 8);
  EXPECT_EQ(model.layers()[1].n_heads, 6);
  EXPECT_EQ(model.layers()[1].head_dim, 4);
  EXPECT_EQ(model.n_heads(), std::nullopt);
  EXPECT_EQ(model.read(1).output.weight.rows(), 24);
}

TEST_F(ModelTest, BuffersOfTheSameModuleAreNoWeights) {
  config(R"({"model_type":"gpt2","n_embd":32,"n_head":8})");
  file_->add("h.0.attn.c_attn.weight", 32, 96, weight_entry);
  file_->add("h.0.attn.c_proj.weight", 32, 32, weight_entry);
  file_->add("h.0.attn.bias", 16, 16, weight_entry);
  file_->add_vector("h.0.attn.masked_bias", Vector::Zero(1));
  const Model model = open();
  EXPECT_EQ(model.layers()[0].tensors.size(), 2u);
  EXPECT_EQ(model.layout_code(), "S3+T");
}

TEST_F(ModelTest, OrientationDecidesWhereNamesCannot) {
  options_.n_heads = 8;
  file_->add("h.0.attn.c_attn.weight", 32, 96, weight_entry);
  file_->add("h.0.attn.c_proj.weight", 32, 32, weight_entry);
  EXPECT_EQ(open().layout().name, "gpt2");
  SetUp();
  file_->add("h.0.attn.c_attn.weight", 96, 32, weight_entry);
  file_->add("h.0.attn.c_proj.weight", 32, 32, weight_entry);
  const Model model = open();
  EXPECT_EQ(model.layout().name, "nanogpt");
  EXPECT_TRUE(mentions(joined(model.notes()), {"chosen by tensor names"}));
}

TEST_F(ModelTest, OrientationAgainstTheConfigurationIsRefused) {
  config(R"({"model_type":"gpt2","n_embd":32,"n_head":8})");
  file_->add("h.0.attn.c_attn.weight", 96, 32, weight_entry);
  file_->add("h.0.attn.c_proj.weight", 32, 32, weight_entry);
  EXPECT_TRUE(mentions(refusal(), {"c_attn.weight [96, 32]", "--layout"}));
}

TEST_F(ModelTest, DecoderOnlyNamesAreOptAndTheRestBart) {
  options_.n_heads = 8;
  const std::vector<std::string> names = {"q_proj", "k_proj", "v_proj", "out_proj"};
  add_square_layer("decoder.layers.0.self_attn.", names);
  EXPECT_EQ(open().layout().name, "opt");
  SetUp();
  for (const std::string base :
       {"encoder.layers.0.self_attn.", "decoder.layers.0.self_attn.", "decoder.layers.0.encoder_attn."})
    add_square_layer(base, names);
  EXPECT_EQ(open().layout().name, "bart");
}

TEST_F(ModelTest, FoldingWhatIsNotThereIsRefusedOnlyOnDemand) {
  config(kLlama);
  add_llama_layer("model.layers.0.");
  EXPECT_TRUE(mentions(open().layers()[0].folded, {"none: input_layernorm.weight is not in the file"}));
  SetUp();
  add_llama_layer("model.layers.0.");
  options_.fold_norm = FoldNorm::yes;
  EXPECT_TRUE(mentions(open().layers()[0].reason, {"--fold-norm yes"}));
  SetUp();
  config(R"({"model_type":"olmo2","hidden_size":32,"num_attention_heads":8,"num_key_value_heads":2})");
  add_llama_layer("model.layers.0.");
  EXPECT_TRUE(mentions(open().layers()[0].reason, {"the layout names no input norm"}));
}

TEST_F(ModelTest, FirstLayerOfModernBertHasNoNormByDesign) {
  config(R"({"model_type":"modernbert","hidden_size":32,"num_attention_heads":8})");
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    file_->add(layer + "attn.Wqkv.weight", 96, 32, weight_entry);
    file_->add(layer + "attn.Wo.weight", 32, 32, weight_entry);
  }
  options_.fold_norm = FoldNorm::yes;
  const Model model = open();
  EXPECT_EQ(model.layers()[0].reason, "");
  EXPECT_TRUE(mentions(model.layers()[0].folded, {"by design"}));
  EXPECT_NE(model.layers()[1].reason, "");
}

TEST_F(ModelTest, LayerNormWhereTheLayoutSaysRmsIsRefused) {
  config(kLlama);
  add_llama_layer("model.layers.0.");
  file_->add_vector("model.layers.0.input_layernorm.weight", Vector::Ones(32));
  file_->add_vector("model.layers.0.input_layernorm.bias", Vector::Ones(32));
  EXPECT_TRUE(mentions(refusal(), {"bias", "LayerNorm"}));
}

TEST_F(ModelTest, UsersRowsComeFirstAndAnyRowCanBeForced) {
  config(kLlama);
  add_llama_layer("model.layers.0.");
  options_.layouts = parse_layouts(R"({"name":"mine","attentions":[{"stack":"mine","attention":"self",
      "layer":"model.layers.{layer}.","query":"self_attn.q_proj.weight","key":"self_attn.k_proj.weight",
      "value":"self_attn.v_proj.weight","output":"self_attn.o_proj.weight"}]})",
                                   "mine.json");
  const Model model = open();
  EXPECT_EQ(model.layout().name, "mine");
  EXPECT_EQ(model.layers()[0].stack, "mine");
  SetUp();
  add_llama_layer("model.layers.0.");
  options_.layout_name = "cohere";
  EXPECT_EQ(open().layout().name, "cohere");
  SetUp();
  add_llama_layer("model.layers.0.");
  options_.layout_name = "gpt2";
  EXPECT_TRUE(mentions(refusal(), {"layout gpt2 names no attention"}));
  SetUp();
  options_.layout_name = "lama";
  EXPECT_THROW(open(), ArgumentError);
}

TEST_F(ModelTest, UncoveredProjectionsAreSaid) {
  config(kLlama);
  add_llama_layer("model.layers.0.");
  file_->add("vision_tower.vision_model.encoder.layers.3.self_attn.q_proj.weight", 8, 8, weight_entry);
  EXPECT_TRUE(mentions(joined(open().notes()),
                       {"vision_tower.vision_model.encoder.layers.N.self_attn.q_proj.weight"}));
}

TEST_F(ModelTest, OrdinaryFilesHaveNoNotes) {
  config(R"({"model_type":"bert","hidden_size":32,"num_hidden_layers":1,"num_attention_heads":8})");
  add_square_layer("bert.encoder.layer.0.attention.",
                   {"self.query", "self.key", "self.value", "output.dense"});
  EXPECT_EQ(joined(open().notes()), "") << "an encoder without cross-attention";
  SetUp();
  config(kLlama);
  add_llama_layer("model.layers.0.");
  file_->add("model.layers.0.self_attn.causal_mask", 16, 16, weight_entry);
  EXPECT_EQ(joined(open().notes()), "") << "a stored mask";
}

TEST_F(ModelTest, AMissingKindOfAttentionIsSaid) {
  config(R"({"model_type":"t5","d_model":32,"d_kv":4,"num_layers":1,"num_heads":8})");
  add_square_layer("encoder.block.0.layer.0.SelfAttention.", {"q", "k", "v", "o"});
  EXPECT_TRUE(mentions(joined(open().notes()), {"decoder self-attention", "decoder cross-attention"}));
}

TEST_F(ModelTest, TransposingReadsInBoundedChunks) {
  options_.n_heads = 8;
  file_->add("h.0.attn.c_attn.weight", 1024, 3072, weight_entry);
  file_->add("h.0.attn.c_proj.weight", 1024, 1024, weight_entry);
  MemoryContainer* file = file_.get();
  const Model model = open();
  const LayerHeads heads = model.read(0);
  EXPECT_EQ(heads.key.weight(1000, 700), weight_entry(700, 1024 + 1000));
  EXPECT_EQ(heads.output.weight(1000, 700), weight_entry(1000, 700));
  // The output of an [in, out] layer needs no re-ordering and is read in place.
  EXPECT_LE(file->largest_read(), 1024 * 1024);
}

// Reference norms of ../shared/checkpoints/README.md; a permutation of rows inside a head does not change
// them.
TEST(SharedCheckpoints, StoriesHaveTheirKnownNorms) {
  const std::string path = std::string(HEADSPAN_SHARED_DIR) + "/checkpoints/stories260K.safetensors";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  ModelOptions options;
  options.fold_norm = FoldNorm::no;
  const Model model(open_container(path), options);
  ASSERT_EQ(model.layers().size(), 5u);
  const LayerHeads heads = model.read(0);
  EXPECT_NEAR(heads.query.weight.norm(), 15.1103342, 2e-7 * 15);
  EXPECT_NEAR(heads.key.weight.norm(), 10.2400146, 2e-7 * 10);
  EXPECT_NEAR(heads.value.weight.norm(), 2.09029987, 2e-7 * 2);
  EXPECT_NEAR(heads.output.weight.norm(), 3.91392043, 2e-7 * 4);
  const double norms[] = {0.465032, 0.749873, 0.466345, 0.428257, 0.466334, 0.450715, 0.529161, 0.409613};
  for (int h = 0; h < 8; ++h)
    EXPECT_NEAR((heads.output.head(h).transpose() * heads.value.head(h / 2)).norm(), norms[h], 1e-6) << h;
}

TEST(SharedCheckpoints, ChronosFoldsItsCrossAttention) {
  const std::string path =
      std::string(HEADSPAN_SHARED_DIR) + "/checkpoints/chronos_bolt_dummy_t5.safetensors";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Model model(open_container(path), {});
  ASSERT_EQ(model.layers().size(), 12u);
  const LayerPlace& cross = model.layers()[8];
  EXPECT_EQ(cross.stack + cross.attention + std::to_string(cross.layer), "decodercross0");
  EXPECT_EQ(model.head_dim(), 4);
  // numpy: |W_q diag(layer_norm)|, |W_k diag(encoder.final_layer_norm)|.
  const LayerHeads heads = model.read(8);
  EXPECT_NEAR(heads.query.weight.norm(), 0.005128336798062229, 1e-15);
  EXPECT_NEAR(heads.key.weight.norm(), 0.018458794637256835, 1e-15);
}

}  // namespace
}  // namespace headspan::checkpoint
