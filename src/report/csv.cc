#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "headspan/report/report.h"
#include "report/csv_row.h"
#include "report/number_text.h"

namespace headspan::report {
namespace {

using audit::AuditReport;
using audit::LayerFacts;
using audit::PairFacts;
using audit::SourceFacts;

using Fields = std::vector<std::string>;

// Empty for the 0 by which the facts say "unknown".
std::string known(std::int64_t value) { return value == 0 ? "" : std::to_string(value); }

template <class T, class Text>
std::string joined(const std::vector<T>& items, const Text& text) {
  std::string out;
  for (const T& item : items) append(out, ";", text(item));
  return out;
}

Fields layer_fields(const LayerFacts& layer) {
  return {std::to_string(layer.layer),
          layer.stack,
          layer.attention,
          to_string(layer.status),
          layer.reason,
          known(layer.n_heads),
          known(layer.n_kv_heads),
          known(layer.head_dim),
          known(layer.value_dim),
          layer.code,
          std::to_string(layer.used_by),
          layer.qk_norm,
          layer.folded};
}

Fields source_fields(const SourceFacts& facts) {
  const ensemble::Diversity& d = facts.diversity;
  return {to_string(facts.source),
          known(facts.n_heads),
          exact_text(d.hdi),
          exact_text(d.baseline),
          exact_text(d.baseline_sd),
          exact_text(d.z),
          d.z_method,
          facts.p_method,
          exact_text(d.bound),
          exact_text(d.headroom),
          exact_text(d.n_eff_1),
          exact_text(d.n_eff_2),
          exact_text(d.n_eff_inf),
          joined(facts.heads_left_out, [](int head) { return std::to_string(head); }),
          std::to_string(facts.n_significant_aligned),
          std::to_string(facts.n_significant_repelled),
          facts.reason};
}

Fields pair_fields(const LayerFacts& layer, const PairFacts& pair) {
  const std::vector<double> angles = pair.angles.value_or(std::vector<double>{});
  const auto [smallest, largest] = std::minmax_element(angles.begin(), angles.end());
  return {std::to_string(layer.layer),
          layer.stack,
          layer.attention,
          to_string(pair.source),
          std::to_string(pair.a),
          std::to_string(pair.b),
          exact_text(pair.overlap),
          exact_text(pair.z),
          exact_text(pair.p),
          exact_text(pair.q),
          to_string(pair.direction),
          std::to_string(pair.forced_zero_angles),
          angles.empty() ? "" : exact_text(*smallest),
          angles.empty() ? "" : exact_text(*largest),
          joined(angles, [](double angle) { return exact_text(angle); })};
}

}  // namespace

void write_csv(std::ostream& out, const AuditReport& report) {
  out << "layer,stack,attention,status,reason,n_heads,n_kv_heads,head_dim,value_dim,layout_code,used_by,"
         "qk_norm,folded,source,source_n_heads,hdi,baseline,baseline_sd,z,z_method,p_method,bound,headroom,"
         "n_eff_1,n_eff_2,n_eff_inf,heads_left_out,n_aligned,n_repelled,source_reason\n";
  const std::size_t n_source_fields = source_fields(SourceFacts{}).size();
  for (const LayerFacts& layer : report.layers) {
    const Fields first = layer_fields(layer);
    // A layer without any source, a refused one, still has its row.
    if (layer.sources.empty()) {
      Fields row = first;
      row.resize(first.size() + n_source_fields);
      write_csv_row(out, row);
    }
    for (const SourceFacts& facts : layer.sources) {
      Fields row = first;
      for (std::string& field : source_fields(facts)) row.push_back(std::move(field));
      write_csv_row(out, row);
    }
  }
}

void write_pairs_csv(std::ostream& out, const AuditReport& report) {
  out << "layer,stack,attention,source,a,b,overlap,z,p,q,direction,forced_zero_angles,angle_min,angle_max,"
         "angles\n";
  for (const LayerFacts& layer : report.layers)
    for (const PairFacts& pair : layer.pairs) write_csv_row(out, pair_fields(layer, pair));
}

}  // namespace headspan::report
