#pragma once
// How a model family names and orders the weights of its heads: constant data, no code.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace headspan::checkpoint {

/// Order of the blocks of head_dim rows along the out axis of a fused matrix.
enum class FusedCode {
  separate,   ///< SEP: one matrix per role
  sections,   ///< S3: [all Q | all K | all V]
  per_head,   ///< I3: per head [q, k, v]
  per_group,  ///< IG: per key/value group [q_1 .. q_r, k, v]
  qvk_slabs,  ///< QVK4: four slabs, each [Q | V | K]
};
const char* to_string(FusedCode code);  ///< "SEP", "S3", "I3", "IG", "QVK4"

/// A norm whose gain may be folded into the projections that read its output.
struct NormNames {
  std::vector<std::string> tensors;   ///< alternatives, the first one present is used
  std::string kind;                   ///< "rms" or "layer" (LayerNorm: the mean is removed too)
  double gain_offset = 0.0;           ///< 1 where the file stores gain - 1 (Gemma)
  bool first_layer_identity = false;  ///< layer 0 has no norm by design (ModernBERT)
};

/// One kind of attention block of a family. A tensor's name is PREFIX + `layer` + its own name below, where
/// PREFIX is made of known prefixes ("model.", "module." ...) and "{layer}" stands for the layer number.
struct AttentionNames {
  std::string stack;      ///< "decoder", "encoder", "vision", "text" ...
  std::string attention;  ///< "self" or "cross"
  /// "layers.{layer}."; may lack "{layer}" (shared block). "{path}" at its start stands for any parent path,
  /// whose last all-digit component, if any, is the layer number and whose rest names the stack.
  std::string layer;
  std::string query, key, value;  ///< separate matrices
  std::string fused;              ///< or one fused matrix
  std::string output;
  FusedCode code = FusedCode::separate;
  bool in_out = false;                  ///< matrices stored [in, out] (GPT-2)
  std::optional<NormNames> input_norm;  ///< read by Q, and in self-attention by K and V
  std::optional<NormNames>
      memory_norm;  ///< cross-attention: the norm whose output K and V read; PREFIX + its name
  /// Norms on queries and keys, per head or over all heads (length decides); with "{head}" in the name, one
  /// tensor for each head.
  std::string query_norm, key_norm;
  double qk_gain_offset = 0.0;
  std::string config_section;  ///< "text_config" ...; empty: the top level or the first known nested section
  std::map<std::string, std::vector<std::string>>
      config_keys;  ///< "n_heads" -> the keys of this stack, in order
};

/// Class default of a model_type for an absent or null key: a number, or text: a rule ("n_heads",
/// "d_model/n_heads"), or the value of a condition ("true").
using DefaultValue = std::variant<std::int64_t, std::string>;

/// One row per family.
struct Layout {
  std::string name;                      ///< "llama"
  std::string title;                     ///< families it covers, for people
  std::vector<std::string> model_types;  ///< config model_type values
  bool needs_model_type = false;         ///< never chosen by tensor names alone
  std::map<std::string, std::string>
      when;                           ///< conditions, key -> "true"/"false"/text; absent keys: class defaults
  std::vector<std::string> prefixes;  ///< stripped from tensor names besides the general ones ("bert.")
  std::vector<AttentionNames> attentions;
  /// model_type, section name or "*" (whatever the configuration) -> quantity (n_heads, n_kv_heads, head_dim,
  /// or a key of `when`) -> default. "n_kv_heads_if_null" where an explicit null means something else than
  /// absence.
  std::map<std::string, std::map<std::string, DefaultValue>> defaults;
  std::map<std::string, std::int64_t> fixed;  ///< quantities the family fixes whatever the configuration says
  std::string shared_layers;  ///< config key counting the layers that use the stored blocks (ALBERT)
};

/// The built-in rows, in the order in which tensor names are tried.
const std::vector<Layout>& builtin_layouts();

/// Rows from JSON text: the form `layouts_json` gives, an array of rows, or one row. Throws CheckpointError
/// naming `path` and the key.
std::vector<Layout> parse_layouts(const std::string& json, const std::string& path);

/// JSON of rows, readable by parse_layouts.
std::string layouts_json(const std::vector<Layout>& layouts);

}  // namespace headspan::checkpoint
