#pragma once
// Container x configuration x layout: the attention layers of a model, and their weights on demand.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headspan/checkpoint/container.h"
#include "headspan/checkpoint/layout.h"
#include "headspan/numeric/heads.h"

namespace headspan::checkpoint {

enum class FoldNorm { automatic, yes, no };

struct ModelOptions {
  std::string config_path;              ///< empty: config.json beside the weights, or STEM.config.json
  std::optional<std::int64_t> n_heads;  ///< flags override the configuration
  std::optional<std::int64_t> n_kv_heads;
  std::optional<std::int64_t> head_dim;
  std::string layout_name;      ///< force a row; empty: by model_type, then by tensor names
  std::vector<Layout> layouts;  ///< rows tried before the built-in ones (--layout-file)
  FoldNorm fold_norm = FoldNorm::automatic;
};

/// A number and where it comes from: "config.json: num_attention_heads", "class default of mistral",
/// "--heads".
struct Sourced {
  std::int64_t value = 0;
  std::string origin;
};

/// One attention layer as found in the file. `reason` is empty unless the layer cannot be read.
struct LayerPlace {
  int layer = 0;          ///< number in the names; 0 for a shared block
  std::string stack;      ///< "decoder" ...
  std::string attention;  ///< "self", "cross"
  std::string code;       ///< layout code, "+T" appended where stored [in, out]
  std::int64_t n_heads = 0, n_kv_heads = 0, head_dim = 0;  ///< 0 where unknown
  std::int64_t value_dim = 0;
  std::map<std::string, std::string> tensors;  ///< role (query key value output fused input_norm memory_norm
                                               ///< query_norm key_norm) -> full name
  std::string qk_norm;                         ///< "none", "per_head", "all_heads"
  std::string
      folded;       ///< what folding did: "rms gain of NAME", "layer gain and mean of NAME", "none: reason"
  int used_by = 1;  ///< how many layers of the model use this stored block
  std::string reason;  ///< why it is refused
};

/// A model whose layers can be read one at a time. Throws CheckpointError at construction for what concerns
/// the whole file (no attention tensors, no configuration and no flags ...); what concerns one layer is its
/// `reason`.
class Model {
 public:
  Model(std::unique_ptr<Container> container, ModelOptions options);
  ~Model();
  Model(Model&& other) noexcept;
  Model& operator=(Model&& other) noexcept;

  const Container& container() const;
  const Layout& layout() const;
  std::string layout_code() const;  ///< code of the first attention kind, all kinds if they differ
  const std::vector<LayerPlace>& layers() const;  ///< in order of stack, attention, layer
  std::int64_t d_model() const;
  std::optional<std::int64_t> n_heads() const;  ///< of the first attention kind; empty where layers differ
  std::optional<std::int64_t> n_kv_heads() const;
  std::optional<std::int64_t> head_dim() const;
  const std::map<std::string, std::string>& origin()
      const;  ///< quantity -> origin ("encoder.n_heads" where stacks differ)
  const std::vector<std::string>& prefixes() const;  ///< stripped from tensor names
  const std::vector<std::string>& notes() const;     ///< oddities met, those of the container first

  /// The weights of layers()[i], in double, norms folded as the options say. Non-finite entries are returned
  /// as they are. Throws CheckpointError for a refused layer and for read errors.
  LayerHeads read(std::size_t i) const;

  /// The stored fused matrix as blocks of head_dim rows [n_blocks*head_dim, width], unpermuted and unfolded;
  /// empty for separate layouts. For checking the roles of the blocks.
  Matrix read_fused(std::size_t i) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headspan::checkpoint
