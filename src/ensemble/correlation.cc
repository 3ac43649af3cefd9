#include "headspan/ensemble/correlation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

constexpr double kShapeTolerance = 1e-9;

void check(const CorrelationMatrix& correlation) {
  const Matrix& r = correlation.values;
  const auto fail = [&](const char* rule) {
    throw ArgumentError(fmt::format("correlation matrix of {}: {}", correlation.source, rule));
  };
  if (r.rows() != r.cols() || r.rows() == 0) fail("must be square and not empty");
  if (!r.allFinite()) fail("must be finite");
  if ((r - r.transpose()).cwiseAbs().maxCoeff() > kShapeTolerance) fail("must be symmetric");
  if ((r.diagonal().array() - 1.0).abs().maxCoeff() > kShapeTolerance) fail("must have a unit diagonal");
}

void add_hill_numbers(MatrixView r, Diversity& out) {
  // A correlation matrix has no negative eigenvalues; rounding may give some of the order of 1e-16.
  const Vector p = symmetric_eigenvalues(r).cwiseMax(0.0) / static_cast<double>(r.rows());
  double entropy = 0.0;
  for (const double share : p)
    if (share > 0.0) entropy -= share * std::log(share);
  out.n_eff_1 = std::exp(entropy);
  out.n_eff_2 = static_cast<double>(r.rows()) * static_cast<double>(r.rows()) / r.squaredNorm();
  out.n_eff_inf = 1.0 / p.maxCoeff();
}

}  // namespace

std::optional<double> head_diversity_index(MatrixView correlation) {
  const double n = static_cast<double>(correlation.rows());
  if (correlation.rows() < 2) return std::nullopt;
  double off_diagonal = 0.0;
  for (Index a = 0; a < correlation.rows(); ++a)
    for (Index b = 0; b < a; ++b) off_diagonal += correlation(a, b) + correlation(b, a);
  return 1.0 - off_diagonal / (n * (n - 1.0));
}

Diversity diversity(const CorrelationMatrix& correlation, const std::optional<Baseline>& baseline,
                    std::optional<double> bound) {
  check(correlation);
  Diversity out;
  add_hill_numbers(correlation.values, out);
  out.hdi = head_diversity_index(correlation.values);
  if (!out.hdi) return out;
  out.bound = bound;
  if (bound) out.headroom = *bound - *out.hdi;
  if (baseline) {
    out.baseline = baseline->hdi;
    out.baseline_sd = baseline->sd;
    out.z_method = baseline->method;
    if (baseline->sd > 0.0) out.z = (*out.hdi - baseline->hdi) / baseline->sd;
  }
  return out;
}

Vector benjamini_hochberg(VectorView p) {
  if (p.size() > 0 && !(p.minCoeff() >= 0.0 && p.maxCoeff() <= 1.0))
    throw ArgumentError("benjamini_hochberg: p-values must lie in [0, 1]");
  std::vector<Index> order(static_cast<std::size_t>(p.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return p(a) < p(b); });
  Vector q(p.size());
  double smallest = 1.0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const double rank = static_cast<double>(i + 1);
    smallest = std::min(smallest, p(order[i]) * static_cast<double>(order.size()) / rank);
    q(order[i]) = smallest;
  }
  return q;
}

}  // namespace headspan::ensemble
