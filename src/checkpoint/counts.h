#pragma once
// Head counts: flags, then the configuration, then class defaults, then what the shapes truly fix.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "checkpoint/config.h"
#include "headspan/checkpoint/layout.h"
#include "headspan/checkpoint/model.h"

namespace headspan::checkpoint {

/// Why one layer is refused. `contradiction`: configuration or flags against shapes; `unknown`: a count is
/// missing.
class LayerTrouble : public std::runtime_error {
 public:
  enum class Kind { unreadable, contradiction, unknown };
  LayerTrouble(Kind kind, const std::string& reason) : std::runtime_error(reason), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// What is known of one count before any shape is seen.
struct CountRule {
  std::optional<Sourced> value;
  std::optional<Sourced> alternative;  ///< for an explicit null: the class default of an absent key
  std::string rule;                    ///< else "n_heads" or "d_model/n_heads"
  std::string rule_origin;
};

/// The counts of one stack before any shape is seen.
struct CountRules {
  CountRule n_heads, n_kv_heads, head_dim;
  std::optional<Sourced> d_model, n_layers;
  bool has_config = false;
};

/// Throws CheckpointError refused for impossible configuration values, ArgumentError for impossible flags.
CountRules count_rules(const ModelOptions& options, const Layout& layout, const AttentionNames& names,
                       const Config& config, const ConfigScope& scope);

/// Class default of `quantity` that holds for this scope: of its model_type, its section, the top-level
/// model_type, or "*". Nothing where the row has none.
struct ClassDefault {
  DefaultValue value;
  std::string origin;
};
std::optional<ClassDefault> class_default(const Layout& layout, const Config& config,
                                          const ConfigScope& scope, const std::string& quantity);

/// Shapes of one layer's projections, heads along the rows whatever the storage order.
struct LayerShapes {
  std::int64_t query_rows = 0;  ///< of a fused matrix: what the output projection reads
  std::int64_t key_rows = 0;    ///< of a fused matrix: half of what the queries leave
  std::int64_t value_rows = 0;
  std::int64_t width = 0;         ///< what the queries read
  std::int64_t output_inner = 0;  ///< what the output projection reads
  std::int64_t query_norm = 0;    ///< entries; 0: no such norm, or a norm per head stored as a matrix
  std::string query_text, key_text, value_text, output_text;  ///< "NAME [rows, columns]"
};

struct Counts {
  Sourced n_heads, n_kv_heads, head_dim;
  std::int64_t value_dim = 0;
};

/// The counts of a layer, checked against its shapes. `n_pruned` heads are missing from the configuration's
/// number. Throws LayerTrouble.
Counts layer_counts(const CountRules& rules, const LayerShapes& shapes, FusedCode code,
                    std::int64_t n_pruned);

}  // namespace headspan::checkpoint
