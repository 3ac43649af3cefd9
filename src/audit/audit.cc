#include "headspan/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "audit/comparison.h"
#include "audit/layer.h"
#include "audit/roles.h"
#include "audit/summary.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::audit {
namespace {

ModelFacts model_facts(const checkpoint::Model& model) {
  ModelFacts facts;
  facts.path = model.container().path();
  facts.format = model.container().format();
  facts.layout = model.layout().name;
  facts.layout_code = model.layout_code();
  facts.n_layers = static_cast<std::int64_t>(model.layers().size());
  facts.d_model = model.d_model();
  facts.n_heads = model.n_heads();
  facts.n_kv_heads = model.n_kv_heads();
  facts.head_dim = model.head_dim();
  facts.origin = model.origin();
  facts.prefixes = model.prefixes();
  facts.notes = model.notes();
  return facts;
}

LayerFacts layer_description(const checkpoint::LayerPlace& place) {
  LayerFacts facts;
  facts.layer = place.layer;
  facts.stack = place.stack;
  facts.attention = place.attention;
  facts.code = place.code;
  facts.n_heads = place.n_heads;
  facts.n_kv_heads = place.n_kv_heads;
  facts.head_dim = place.head_dim;
  facts.value_dim = place.value_dim;
  facts.used_by = place.used_by;
  facts.tensors = place.tensors;
  facts.qk_norm = place.qk_norm;
  facts.folded = place.folded;
  return facts;
}

void refuse(LayerFacts& facts, const std::string& reason) {
  facts.status = Status::refused;
  facts.reason = reason;
}

LayerFacts one_layer(const checkpoint::Model& model, std::size_t i, const InputCovariance& input,
                     const AuditOptions& options, Baselines& baselines) {
  const checkpoint::LayerPlace& place = model.layers()[i];
  LayerFacts facts = layer_description(place);
  if (!place.reason.empty()) {
    refuse(facts, place.reason);
    return facts;
  }
  try {
    add_roles(model, i, facts);
    audit_heads(model.read(i), input, options, baselines, facts);
  } catch (const FileError& error) {
    // What concerns this layer's tensors alone makes a marked row; a file that changed or ended early ends
    // the audit.
    if (error.fault() != FileFault::unsupported) throw;
    refuse(facts, error.reason());
    return facts;
  }
  doubt_if_contradicted(facts);
  return facts;
}

void check_covariance(const checkpoint::Model& model, const AuditOptions& options) {
  if (options.covariance.size() > 0 && options.covariance.rows() != model.d_model())
    throw CovarianceError(fmt::format("covariance is {} x {}, but the model's inputs have {} dimensions",
                                      options.covariance.rows(), options.covariance.cols(), model.d_model()));
}

/// Angles stay only where they are asked for: significant pairs and the most redundant of the whole model per
/// source.
void drop_unasked_angles(AuditReport& report) {
  if (report.options.all_angles) return;
  std::set<const PairFacts*> listed;
  for (const Source source : all_sources())
    for (const RankedPair& ranked :
         most_redundant(report, source, static_cast<std::size_t>(report.options.n_pairs)))
      listed.insert(ranked.pair);
  for (LayerFacts& layer : report.layers)
    for (PairFacts& pair : layer.pairs)
      if (pair.direction == Direction::none && !listed.contains(&pair)) pair.angles.reset();
}

}  // namespace

AuditReport audit(const checkpoint::Model& model, const AuditOptions& options, const Progress& progress) {
  check_covariance(model, options);
  const ThreadLimit limit(options.n_threads);
  Baselines baselines({options.seed, options.n_samples});
  const InputCovariance input =
      options.covariance.size() > 0 ? factor_covariance(options.covariance) : InputCovariance{};
  AuditReport report;
  report.model = model_facts(model);
  report.options = options;
  const std::size_t n = model.layers().size();
  for (std::size_t i = 0; i < n; ++i) {
    if (progress && !progress(i, n)) throw Cancelled();
    report.layers.push_back(one_layer(model, i, input, options, baselines));
  }
  if (progress && !progress(n, n)) throw Cancelled();
  drop_unasked_angles(report);
  report.thresholds = judge_thresholds(report);
  report.summary = summarise(report);
  return report;
}

std::string layer_label(const AuditReport& report, const LayerFacts& layer) {
  const LayerFacts& first = report.layers.front();
  const bool one_kind = std::all_of(report.layers.begin(), report.layers.end(), [&](const LayerFacts& other) {
    return other.stack == first.stack && other.attention == first.attention;
  });
  return one_kind ? fmt::format("{}", layer.layer)
                  : fmt::format("{}.{}.{}", layer.stack, layer.attention, layer.layer);
}

std::vector<RankedPair> most_redundant(const AuditReport& report, Source source, std::size_t n) {
  std::vector<RankedPair> ranked;
  for (const LayerFacts& layer : report.layers)
    for (const PairFacts& pair : layer.pairs)
      if (pair.source == source && pair.z) ranked.push_back({&layer, &pair});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedPair& l, const RankedPair& r) { return more_redundant(*l.pair, *r.pair); });
  if (ranked.size() > n) ranked.resize(n);
  return ranked;
}

}  // namespace headspan::audit
