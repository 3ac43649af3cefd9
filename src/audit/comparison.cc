#include "audit/comparison.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace headspan::audit {
namespace {

ensemble::Diversity source_diversity(const SourceMatrix& source) {
  const std::vector<int> heads = heads_with_value(source);
  if (heads.empty()) return {};
  const Matrix kept = source.values(heads, heads);
  return ensemble::diversity({to_string(source.source), kept}, source.baseline, source.bound);
}

std::vector<PairFacts> compare_pairs(const SourceMatrix& source, const AngleTable& angles) {
  std::vector<PairFacts> pairs;
  for (int a = 0; a < source.values.rows(); ++a)
    for (int b = a + 1; b < source.values.rows(); ++b) {
      PairFacts& pair = pairs.emplace_back();
      pair.source = source.source;
      pair.a = a;
      pair.b = b;
      if (std::isnan(source.values(a, b))) continue;
      pair.overlap = source.values(a, b);
      const subspace::Comparison comparison = source.compare(a, b, *pair.overlap);
      pair.z = comparison.z;
      pair.p = comparison.p;
      pair.angles = angles.get(source.source, a, b);
      if (source.width > 0) {
        const int ranks = source.rank[static_cast<std::size_t>(a)] + source.rank[static_cast<std::size_t>(b)];
        pair.forced_zero_angles = std::max(0, ranks - static_cast<int>(source.width));
      }
    }
  return pairs;
}

/// Benjamini-Hochberg over the pairs that have a p-value.
void adjust(double alpha, std::vector<PairFacts>& pairs, SourceFacts& facts) {
  std::vector<PairFacts*> tested;
  for (PairFacts& pair : pairs)
    if (pair.p) tested.push_back(&pair);
  Vector p(static_cast<Index>(tested.size()));
  for (Index i = 0; i < p.size(); ++i) p(i) = *tested[static_cast<std::size_t>(i)]->p;
  const Vector q = ensemble::benjamini_hochberg(p);
  for (Index i = 0; i < q.size(); ++i) {
    PairFacts& pair = *tested[static_cast<std::size_t>(i)];
    pair.q = q(i);
    if (q(i) > alpha) continue;
    pair.direction = *pair.z > 0.0 ? Direction::aligned : Direction::repelled;
    ++(pair.direction == Direction::aligned ? facts.n_significant_aligned : facts.n_significant_repelled);
  }
}

}  // namespace

void AngleTable::prepare(Source source, Index n_heads) {
  tables_[source] = {n_heads, std::vector<std::vector<double>>(static_cast<std::size_t>(n_heads * n_heads))};
}

void AngleTable::set(Source source, Index a, Index b, const Vector& angles) {
  Table& table = tables_.at(source);
  table.angles[static_cast<std::size_t>(a * table.n + b)].assign(angles.begin(), angles.end());
}

std::optional<std::vector<double>> AngleTable::get(Source source, Index a, Index b) const {
  const auto found = tables_.find(source);
  if (found == tables_.end()) return std::nullopt;
  return found->second.angles[static_cast<std::size_t>(a * found->second.n + b)];
}

void add_source(SourceMatrix source, const AuditOptions& options, const AngleTable& angles,
                LayerFacts& facts) {
  SourceFacts out;
  out.source = source.source;
  out.diversity = source_diversity(source);
  out.p_method = source.p_method;
  out.heads_left_out = source.left_out;
  out.reason = source.reason;
  out.n_heads = static_cast<int>(source.values.rows());
  std::vector<PairFacts> pairs = compare_pairs(source, angles);
  adjust(options.alpha, pairs, out);
  out.matrix = std::move(source.values);
  facts.pairs.insert(facts.pairs.end(), pairs.begin(), pairs.end());
  facts.sources.push_back(std::move(out));
}

bool more_redundant(const PairFacts& left, const PairFacts& right) {
  const auto key = [](const PairFacts& pair) {
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    return std::tuple(-pair.z.value_or(lowest), -pair.overlap.value_or(lowest), pair.a, pair.b);
  };
  return key(left) < key(right);
}

std::vector<PairFacts*> pairs_to_show(LayerFacts& facts, Source source, std::size_t n) {
  std::vector<PairFacts*> pairs;
  for (PairFacts& pair : facts.pairs)
    if (pair.source == source && pair.overlap) pairs.push_back(&pair);
  std::sort(pairs.begin(), pairs.end(), [](const auto* l, const auto* r) { return more_redundant(*l, *r); });
  std::vector<PairFacts*> shown;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (i < n || pairs[i]->direction != Direction::none) shown.push_back(pairs[i]);
  return shown;
}

}  // namespace headspan::audit
