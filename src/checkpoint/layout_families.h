#pragma once
// For tests: every registered family, written out once more from the families' own sources and not from the
// rows under test.

#include <string>
#include <vector>

namespace headspan::checkpoint {

enum class Order { separate, s3, i3, ig, qvk4 };
enum class Norm { none, rms, layer };

struct Family {
  std::string layout = {}, config = {};
  std::vector<std::string> names = {};  // q k v o, or fused o; "#" is the layer number
  Order order = Order::separate;
  bool in_out = false;
  int n_heads = 8, n_kv_heads = 8, head_dim = 4, d_model = 32;
  std::string norm = {};
  Norm norm_kind = Norm::none;
  double norm_offset = 0.0;
  std::string memory_norm = {};
  std::string stack = "decoder", attention = "self";
};

inline std::vector<std::string> qkvo(const std::string& before, const std::string& o = "o_proj") {
  return {before + "q_proj.weight", before + "k_proj.weight", before + "v_proj.weight",
          before + o + ".weight"};
}

inline std::string llama_config(const std::string& type, const std::string& more = "") {
  return R"({"model_type":")" + type + R"(","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":8)" +
         more + "}";
}

inline std::vector<Family> decoder_families() {
  const std::string L = "model.layers.#.", H = "transformer.h.#.";
  const std::string kv2 = R"(,"num_key_value_heads":2)";
  const std::string gpt = R"("n_embd":32,"n_layer":2,"n_head":8)";
  const std::vector<std::string> llama = qkvo(L + "self_attn.");
  const std::vector<std::string> c_attn = {H + "attn.c_attn.weight", H + "attn.c_proj.weight"};
  const std::vector<std::string> falcon = {H + "self_attention.query_key_value.weight",
                                           H + "self_attention.dense.weight"};
  const std::string falcon_config = R"({"model_type":"falcon","hidden_size":32,"num_hidden_layers":2,)";
  std::vector<Family> all = {
      {.layout = "llama",
       .config = llama_config("llama", kv2),
       .names = llama,
       .n_kv_heads = 2,
       .norm = L + "input_layernorm.weight",
       .norm_kind = Norm::rms},
      {.layout = "llama",
       .config = llama_config("qwen3", R"(,"head_dim":6,"num_key_value_heads":4)"),
       .names = llama,
       .n_kv_heads = 4,
       .head_dim = 6,
       .norm = L + "input_layernorm.weight",
       .norm_kind = Norm::rms},
      {.layout = "gemma",
       .config = R"({"model_type":"gemma3","text_config":{"model_type":"gemma3_text","hidden_size":24,
       "num_hidden_layers":2}})",
       .names = qkvo("language_model.model.layers.#.self_attn."),
       .n_kv_heads = 4,
       .head_dim = 256,
       .d_model = 24,
       .norm = "language_model.model.layers.#.input_layernorm.weight",
       .norm_kind = Norm::rms,
       .norm_offset = 1.0},
      {.layout = "olmo", .config = llama_config("olmo"), .names = llama},
      {.layout = "olmo2", .config = llama_config("olmo2"), .names = llama},
      {.layout = "cohere",
       .config = llama_config("cohere", kv2),
       .names = llama,
       .n_kv_heads = 2,
       .norm = L + "input_layernorm.weight",
       .norm_kind = Norm::layer},
      {.layout = "stablelm",
       .config = llama_config("stablelm", kv2),
       .names = llama,
       .n_kv_heads = 2,
       .norm = L + "input_layernorm.weight",
       .norm_kind = Norm::layer},
      {.layout = "nemotron",
       .config = llama_config("nemotron", kv2),
       .names = llama,
       .n_kv_heads = 2,
       .norm = L + "input_layernorm.weight",
       .norm_kind = Norm::layer,
       .norm_offset = 1.0},
      {.layout = "phi",
       .config = llama_config("phi"),
       .names = qkvo(L + "self_attn.", "dense"),
       .norm = L + "input_layernorm.weight",
       .norm_kind = Norm::layer},
      {.layout = "phi3",
       .config = llama_config("phi3", kv2),
       .names = {L + "self_attn.qkv_proj.weight", L + "self_attn.o_proj.weight"},
       .order = Order::s3,
       .n_kv_heads = 2,
       .norm = L + "input_layernorm.weight",
       .norm_kind = Norm::rms},
      {.layout = "baichuan",
       .config = llama_config("baichuan"),
       .names = {L + "self_attn.W_pack.weight", L + "self_attn.o_proj.weight"},
       .order = Order::s3,
       .norm = L + "input_layernorm.weight",
       .norm_kind = Norm::rms},
      {.layout = "gpt2",
       .config = R"({"model_type":"gpt2",)" + gpt + "}",
       .names = c_attn,
       .order = Order::s3,
       .in_out = true,
       .norm = H + "ln_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "nanogpt",
       .config = "{" + gpt + "}",
       .names = c_attn,
       .order = Order::s3,
       .norm = H + "ln_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "qwen",
       .config = llama_config("qwen", R"(,"kv_channels":4)"),
       .names = c_attn,
       .order = Order::s3,
       .norm = H + "ln_1.weight",
       .norm_kind = Norm::rms},
      {.layout = "gpt_bigcode_mqa",
       .config = R"({"model_type":"gpt_bigcode",)" + gpt + "}",
       .names = c_attn,
       .order = Order::s3,
       .n_kv_heads = 1,
       .norm = H + "ln_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "gpt_bigcode_mha",
       .config = R"({"model_type":"gpt_bigcode","multi_query":false,)" + gpt + "}",
       .names = c_attn,
       .order = Order::i3,
       .norm = H + "ln_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "gptj",
       .config = R"({"model_type":"gptj",)" + gpt + "}",
       .names = qkvo(H + "attn.", "out_proj"),
       .norm = H + "ln_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "gpt_neo",
       .config = R"({"model_type":"gpt_neo","hidden_size":32,"num_layers":2,"num_heads":8})",
       .names = qkvo(H + "attn.attention.", "out_proj"),
       .norm = H + "ln_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "codegen",
       .config = R"({"model_type":"codegen",)" + gpt + "}",
       .names = {H + "attn.qkv_proj.weight", H + "attn.out_proj.weight"},
       .order = Order::qvk4,
       .norm = H + "ln_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "gpt_neox",
       .config = llama_config("gpt_neox"),
       .names = {"gpt_neox.layers.#.attention.query_key_value.weight",
                 "gpt_neox.layers.#.attention.dense.weight"},
       .order = Order::i3,
       .norm = "gpt_neox.layers.#.input_layernorm.weight",
       .norm_kind = Norm::layer},
      {.layout = "bloom",
       .config = R"({"model_type":"bloom","hidden_size":32,"n_layer":2,"n_head":8})",
       .names = {"h.#.self_attention.query_key_value.weight", "h.#.self_attention.dense.weight"},
       .order = Order::i3,
       .norm = "h.#.input_layernorm.weight",
       .norm_kind = Norm::layer},
      {.layout = "falcon_grouped",
       .config =
           falcon_config + R"("num_attention_heads":8,"num_kv_heads":2,"new_decoder_architecture":true})",
       .names = falcon,
       .order = Order::ig,
       .n_kv_heads = 2,
       .norm = H + "ln_attn.weight",
       .norm_kind = Norm::layer},
      {.layout = "falcon_mqa",
       .config = falcon_config + R"("num_attention_heads":8,"num_kv_heads":8})",
       .names = falcon,
       .order = Order::s3,
       .n_kv_heads = 1,
       .norm = H + "input_layernorm.weight",
       .norm_kind = Norm::layer},
      {.layout = "falcon_mha",
       .config = falcon_config + R"("num_attention_heads":8,"multi_query":false})",
       .names = falcon,
       .order = Order::i3,
       .norm = H + "input_layernorm.weight",
       .norm_kind = Norm::layer},
      {.layout = "mpt_mqa",
       .config =
           R"({"model_type":"mpt","d_model":32,"n_heads":8,"n_layers":2,"attn_config":{"attn_type":"multiquery_attention"}})",
       .names = {"transformer.blocks.#.attn.Wqkv.weight", "transformer.blocks.#.attn.out_proj.weight"},
       .order = Order::s3,
       .n_kv_heads = 1,
       .norm = "transformer.blocks.#.norm_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "mpt",
       .config =
           R"({"model_type":"mpt","d_model":32,"n_heads":8,"n_layers":2,"attn_config":{"kv_n_heads":2}})",
       .names = {"transformer.blocks.#.attn.Wqkv.weight", "transformer.blocks.#.attn.out_proj.weight"},
       .order = Order::s3,
       .n_kv_heads = 2,
       .norm = "transformer.blocks.#.norm_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "dbrx",
       .config =
           R"({"model_type":"dbrx","d_model":32,"n_heads":8,"n_layers":2,"attn_config":{"kv_n_heads":2}})",
       .names = {"transformer.blocks.#.norm_attn_norm.attn.Wqkv.weight",
                 "transformer.blocks.#.norm_attn_norm.attn.out_proj.weight"},
       .order = Order::s3,
       .n_kv_heads = 2,
       .norm = "transformer.blocks.#.norm_attn_norm.norm_1.weight",
       .norm_kind = Norm::layer},
      {.layout = "internlm2",
       .config = llama_config("internlm2", kv2),
       .names = {L + "attention.wqkv.weight", L + "attention.wo.weight"},
       .order = Order::ig,
       .n_kv_heads = 2,
       .norm = L + "attention_norm.weight",
       .norm_kind = Norm::rms},
      {.layout = "opt",
       .config = llama_config("opt"),
       .names = qkvo("model.decoder.layers.#.self_attn.", "out_proj"),
       .norm = "model.decoder.layers.#.self_attn_layer_norm.weight",
       .norm_kind = Norm::layer},
      {.layout = "opt_post_norm",
       .config = llama_config("opt", R"(,"do_layer_norm_before":false)"),
       .names = qkvo("model.decoder.layers.#.self_attn.", "out_proj")},
  };
  return all;
}

inline std::vector<Family> encoder_decoder_families() {
  const std::string sizes =
      R"(","d_model":32,"encoder_layers":2,"decoder_layers":2,"encoder_attention_heads":8,"decoder_attention_heads":8})";
  std::vector<Family> all;
  for (const std::string type : {"bart", "mbart", "whisper"}) {
    const bool pre_norm = type != "bart";
    for (const std::string stack : {"encoder", "decoder"}) {
      const std::string layer = "model." + stack + ".layers.#.";
      Family family{.layout = type,
                    .config = R"({"model_type":")" + type + sizes,
                    .names = qkvo(layer + "self_attn.", "out_proj"),
                    .stack = stack};
      if (pre_norm) family.norm = layer + "self_attn_layer_norm.weight", family.norm_kind = Norm::layer;
      all.push_back(family);
    }
    Family cross{.layout = type,
                 .config = R"({"model_type":")" + type + sizes,
                 .names = qkvo("model.decoder.layers.#.encoder_attn.", "out_proj"),
                 .attention = "cross"};
    if (pre_norm) {
      cross.norm = "model.decoder.layers.#.encoder_attn_layer_norm.weight";
      cross.norm_kind = Norm::layer;
      cross.memory_norm = "model.encoder.layer_norm.weight";
    }
    all.push_back(cross);
  }
  const std::string t5 = R"({"model_type":"t5","d_model":24,"d_kv":4,"num_heads":8,"num_layers":2})";
  const auto names = [](const std::string& before) {
    return std::vector<std::string>{before + "q.weight", before + "k.weight", before + "v.weight",
                                    before + "o.weight"};
  };
  for (const std::string stack : {"encoder", "decoder"})
    all.push_back({.layout = "t5",
                   .config = t5,
                   .names = names(stack + ".block.#.layer.0.SelfAttention."),
                   .d_model = 24,
                   .norm = stack + ".block.#.layer.0.layer_norm.weight",
                   .norm_kind = Norm::rms,
                   .stack = stack});
  all.push_back({.layout = "t5",
                 .config = t5,
                 .names = names("decoder.block.#.layer.1.EncDecAttention."),
                 .d_model = 24,
                 .norm = "decoder.block.#.layer.1.layer_norm.weight",
                 .norm_kind = Norm::rms,
                 .memory_norm = "encoder.final_layer_norm.weight",
                 .attention = "cross"});
  return all;
}

inline std::vector<Family> encoder_families() {
  const std::string bert = "bert.encoder.layer.#.", vit = "vit.encoder.layer.#.";
  const auto named = [](const std::string& before, std::vector<std::string> words) {
    for (std::string& word : words) word = before + word + ".weight";
    return words;
  };
  const std::string plain = R"({"num_attention_heads":8})";
  std::vector<Family> all = {
      {.layout = "bert",
       .config = llama_config("bert"),
       .names = named(bert + "attention.", {"self.query", "self.key", "self.value", "output.dense"}),
       .stack = "encoder"},
      {.layout = "bert",
       .config = llama_config("bert"),
       .names = named(bert + "crossattention.", {"self.query", "self.key", "self.value", "output.dense"}),
       .stack = "encoder",
       .attention = "cross"},
      {.layout = "bert_pre_norm",
       .config = llama_config("esm"),
       .names =
           named("esm.encoder.layer.#.attention.", {"self.query", "self.key", "self.value", "output.dense"}),
       .norm = "esm.encoder.layer.#.attention.LayerNorm.weight",
       .norm_kind = Norm::layer,
       .stack = "encoder"},
      {.layout = "distilbert",
       .config = R"({"model_type":"distilbert","dim":32,"n_layers":2,"n_heads":8})",
       .names = named("distilbert.transformer.layer.#.attention.", {"q_lin", "k_lin", "v_lin", "out_lin"}),
       .stack = "encoder"},
      {.layout = "albert",
       .config = llama_config("albert", R"(,"num_hidden_groups":2)"),
       .names = named("albert.encoder.albert_layer_groups.#.albert_layers.0.attention.",
                      {"query", "key", "value", "dense"}),
       .stack = "encoder"},
      {.layout = "modernbert",
       .config = llama_config("modernbert"),
       .names = {"model.layers.#.attn.Wqkv.weight", "model.layers.#.attn.Wo.weight"},
       .order = Order::s3,
       .norm = "model.layers.#.attn_norm.weight",
       .norm_kind = Norm::layer,
       .stack = "encoder"},
      {.layout = "nomic_bert",
       .config = R"({"model_type":"nomic_bert","n_embd":32,"n_layer":2,"n_head":8})",
       .names = {"encoder.layers.#.attn.Wqkv.weight", "encoder.layers.#.attn.out_proj.weight"},
       .order = Order::s3,
       .stack = "encoder"},
      {.layout = "vit",
       .config = llama_config("vit"),
       .names =
           named(vit + "attention.", {"attention.query", "attention.key", "attention.value", "output.dense"}),
       .norm = vit + "layernorm_before.weight",
       .norm_kind = Norm::layer,
       .stack = "vision"},
      {.layout = "vit",
       .config = llama_config("dinov2"),
       .names = named("encoder.layer.#.attention.",
                      {"attention.query", "attention.key", "attention.value", "output.dense"}),
       .norm = "encoder.layer.#.norm1.weight",
       .norm_kind = Norm::layer,
       .stack = "vision"},
      {.layout = "vit_timm",
       .config = plain,
       .names = {"blocks.#.attn.qkv.weight", "blocks.#.attn.proj.weight"},
       .order = Order::s3,
       .norm = "blocks.#.norm1.weight",
       .norm_kind = Norm::layer,
       .stack = "vision"},
      {.layout = "openclip",
       .config = plain,
       .names = {"transformer.resblocks.#.attn.in_proj_weight",
                 "transformer.resblocks.#.attn.out_proj.weight"},
       .order = Order::s3,
       .norm = "transformer.resblocks.#.ln_1.weight",
       .norm_kind = Norm::layer,
       .stack = "transformer"},
      {.layout = "torch_mha",
       .config = plain,
       .names = {"transformer.layers.#.self_attn.in_proj_weight",
                 "transformer.layers.#.self_attn.out_proj.weight"},
       .order = Order::s3,
       .stack = "transformer.layers"},
      {.layout = "torch_mha",
       .config = plain,
       .names = {"decoder.layers.#.multihead_attn.in_proj_weight",
                 "decoder.layers.#.multihead_attn.out_proj.weight"},
       .order = Order::s3,
       .stack = "decoder.layers",
       .attention = "cross"},
      {.layout = "torch_mha",
       .config = plain,
       .names = {"fusion.#.cross_attn.in_proj_weight", "fusion.#.cross_attn.out_proj.weight"},
       .order = Order::s3,
       .stack = "fusion",
       .attention = "cross"},
      {.layout = "torch_mha",
       .config = plain,
       .names = {"fusion.#.q_proj_weight", "fusion.#.k_proj_weight", "fusion.#.v_proj_weight",
                 "fusion.#.out_proj.weight"},
       .stack = "fusion",
       .attention = "cross"},
  };
  for (const std::string type : {"clip", "siglip"})
    for (const std::string stack : {"text", "vision"}) {
      const std::string layer = stack + "_model.encoder.layers.#.";
      all.push_back({.layout = type,
                     .config = R"({"model_type":")" + type + R"(",")" + stack + R"(_config":)" +
                               llama_config(type + "_" + stack + "_model") + "}",
                     .names = qkvo(layer + "self_attn.", "out_proj"),
                     .norm = layer + "layer_norm1.weight",
                     .norm_kind = Norm::layer,
                     .stack = stack});
    }
  return all;
}

inline std::vector<Family> families() {
  std::vector<Family> all = decoder_families();
  for (const auto& more : {encoder_decoder_families(), encoder_families()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace headspan::checkpoint
