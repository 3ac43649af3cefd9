#pragma once
// What an audit found: facts, options and provenance; no formatting.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headspan/audit/options.h"
#include "headspan/ensemble/correlation.h"

namespace headspan::audit {

/// State of a layer or a head. Anything but ok makes the audit partial.
enum class Status {
  ok,
  dead,            ///< a projection of this head is all zero
  rank_deficient,  ///< numerical rank below head_dim
  non_finite,      ///< NaN or infinity among the weights
  partial,         ///< layer: some heads left out of some sources
  doubtful,        ///< layer: the weights contradict the order of the fused matrix that the layout states
  refused,         ///< layer: not read; the reason says why
};
const char* to_string(Status status);

enum class Direction { none, aligned, repelled };
const char* to_string(Direction direction);

/// Two heads in one source.
struct PairFacts {
  Source source{};
  int a = 0, b = 0;               ///< a < b
  std::optional<double> overlap;  ///< R_ab; empty where a head has no value in this source
  std::optional<double> z, p,
      q;  ///< against independent random heads; q: Benjamini-Hochberg per layer and source
  Direction direction = Direction::none;      ///< significant at alpha, and which way
  int forced_zero_angles = 0;                 ///< max(0, k_a + k_b - d)
  std::optional<std::vector<double>> angles;  ///< radians, largest first; only for pairs that are shown
};

/// One source of one layer.
struct SourceFacts {
  Source source{};
  ensemble::Diversity diversity;
  std::string p_method;             ///< null law of the pairs
  std::vector<int> heads_left_out;  ///< heads without a value: dead or non-finite
  std::string reason;               ///< why there is no value at all, or no comparison ("one head")
  int n_heads = 0;                  ///< of this source: n_kv_heads for key, value and kernel sources
  int n_significant_aligned = 0, n_significant_repelled = 0;
  Matrix matrix;  ///< [n_heads, n_heads]; NaN rows for heads left out; empty if no value at all
};

/// One query head with the key/value head it reads.
struct HeadFacts {
  int head = 0;
  Status status = Status::ok;
  std::string reason;
  std::optional<int> rank_query, rank_key, rank_value, rank_output;
  std::optional<double> qk_norm;  ///< |W_Q,h^T W_K,h|_F, gains of inner norms included
  std::optional<double> ov_norm;  ///< |W_O,h W_V,h|_F
};

/// How well the weights themselves support the order of a fused matrix that the layout states.
struct RoleFacts {
  std::string stated;  ///< code the layout states
  std::string best;    ///< code the weights support most; empty where there is no alternative
  std::map<std::string, double> scores;  ///< candidate code -> evidence, -log10 of a p-value
  double confidence = 0.0;               ///< in [0, 1]; decided from subspace::kRoleConfidence up
  std::string verdict;                   ///< "agrees", "contradicts", "cannot tell"
};

struct LayerFacts {
  int layer = 0;
  std::string stack, attention, code;
  Status status = Status::ok;
  std::string reason;
  std::int64_t n_heads = 0, n_kv_heads = 0, head_dim = 0, value_dim = 0;  ///< 0: unknown
  int used_by = 1;
  std::map<std::string, std::string> tensors;
  std::string qk_norm, folded;
  std::map<std::string, double> rank_tolerance;  ///< query key value output -> largest tolerance of its heads
  std::optional<RoleFacts> roles;                ///< fused layouts only
  std::vector<SourceFacts> sources;              ///< in registry order
  std::vector<PairFacts> pairs;                  ///< by source, then a, b
  std::vector<HeadFacts> heads;
};

struct ModelFacts {
  std::string path, format, layout, layout_code;
  std::int64_t n_layers = 0, d_model = 0;  ///< n_layers: attention layers stored, a row of `layers` each
  std::optional<std::int64_t> n_heads, n_kv_heads, head_dim;
  std::map<std::string, std::string> origin;
  std::vector<std::string> prefixes, notes;
};

/// A threshold set by the user, and the layers across it.
struct ThresholdFacts {
  std::string rule;  ///< "min_hdi" or "max_redundant"
  double limit = 0.0;
  Source source{};
  std::optional<double>
      value;  ///< smallest HDI met (empty: no layer has one), or aligned pairs over the model
  std::vector<std::string> offenders;  ///< layer labels
  bool crossed = false;
};

struct SummaryFacts {
  int n_layers = 0, n_layers_ok = 0;
  int n_heads = 0;                                ///< distinct stored query heads over the layers read
  int n_pairs_aligned = 0, n_pairs_repelled = 0;  ///< of the chosen source
  std::map<std::string, double> mean_hdi, mean_baseline,
      mean_n_eff_2;                  ///< source -> mean over layers that have it
  std::vector<std::string> reading;  ///< two plain sentences
  bool complete = true;              ///< every layer and head ok
};

struct AuditReport {
  ModelFacts model;
  AuditOptions options;
  std::vector<LayerFacts> layers;
  std::vector<ThresholdFacts> thresholds;
  SummaryFacts summary;
};

/// "3", or "encoder.self.3" where the model has several kinds of attention.
std::string layer_label(const AuditReport& report, const LayerFacts& layer);

/// The most redundant pairs of the model in `source`: aligned ones first by overlap z, at most n.
struct RankedPair {
  const LayerFacts* layer;
  const PairFacts* pair;
};
std::vector<RankedPair> most_redundant(const AuditReport& report, Source source, std::size_t n);

}  // namespace headspan::audit
