#include "ensemble/fitted_weights.h"

#include <cmath>
#include <utility>

#include "headspan/ensemble/shrinkage.h"
#include "headspan/numeric/parallel.h"

namespace headspan::ensemble {
namespace {

FittedWeights of_family(const Matrix& m, Family family) {
  FamilyFit fit = fit_family(m, family);
  FittedWeights out{to_string(family), {}, fit.at_edge, std::move(fit.weighting), {}, {}};
  const auto names = parameter_names(family);
  for (std::size_t i = 0; i < names.size(); ++i)
    out.parameters.emplace_back(names[i], fit.parameters[static_cast<Index>(i)]);
  return out;
}

/// Optimal for a shrunk matrix; the risk is that of the matrix as it is.
FittedWeights shrunk(const Matrix& m, const MomentSums& sums) {
  const Shrunk by = shrink_second_moments(m, sums.fourth_powers, sums.n_points);
  Weighting weighting = optimal_weights(by.matrix);
  weighting.risk = risk(m, weighting.weights);
  return {"shrunk", {{"shrinkage", by.shrinkage}}, false, std::move(weighting), {}, {}};
}

std::vector<FittedWeights> fit(const MomentSums& sums, std::optional<double> greatest_norm2) {
  const Matrix m = sums.errors / static_cast<double>(sums.n_points);
  std::vector<FittedWeights> out;
  out.push_back(of_family(m, Family::uniform));
  out.push_back({"optimal", {}, false, optimal_weights(m), {}, {}});
  out.push_back(shrunk(m, sums));
  out.push_back({"simplex", {}, false, simplex_weights(m, greatest_norm2), {}, {}});
  out.push_back({"monotone", {}, false, monotone_weights(m, greatest_norm2), {}, {}});
  for (const Family family : kFamilies)
    if (family != Family::uniform) out.push_back(of_family(m, family));
  return out;
}

MomentSums total(const std::vector<MomentSums>& groups, std::size_t first, std::size_t last) {
  MomentSums sums = MomentSums::nothing_like(groups.front());
  for (std::size_t g = first; g < last; ++g) sums.add(groups[g], 1.0);
  return sums;
}

/// Squared errors of the weights of every way, summed over every group that was left out of their fitting.
Matrix left_out_errors(const std::vector<MomentSums>& groups, std::optional<double> greatest_norm2,
                       Index n_folds, Index n_ways) {
  Matrix errors(n_ways, static_cast<Index>(groups.size()));
  parallel_for(n_folds, [&](Index fold) {
    const auto first = static_cast<std::size_t>(fold) * groups.size() / static_cast<std::size_t>(n_folds);
    const auto last = static_cast<std::size_t>(fold + 1) * groups.size() / static_cast<std::size_t>(n_folds);
    // Added up from the other groups: taken off the total, rounding would be that of the left-out errors.
    MomentSums others = total(groups, 0, first);
    others.add(total(groups, last, groups.size()), 1.0);
    const std::vector<FittedWeights> fitted = fit(others, greatest_norm2);
    for (Index way = 0; way < n_ways; ++way)
      for (std::size_t g = first; g < last; ++g)
        errors(way, static_cast<Index>(g)) =
            risk(groups[g].errors, fitted[static_cast<std::size_t>(way)].weighting.weights);
  });
  return errors;
}

/// Mean over the points of sums over groups, and its standard error from the spread of the groups.
Part mean_over_groups(const Vector& sums, const std::vector<MomentSums>& groups) {
  double n = 0.0, squares = 0.0;
  for (const MomentSums& group : groups) n += static_cast<double>(group.n_points);
  const double mean = sums.sum() / n;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const double size = static_cast<double>(groups[g].n_points),
                 off = sums[static_cast<Index>(g)] / size - mean;
    squares += size * off * off;
  }
  return {mean, Origin::estimated, std::sqrt(squares / (static_cast<double>(groups.size()) - 1.0) / n)};
}

}  // namespace

std::vector<FittedWeights> fit_weights(const std::vector<MomentSums>& groups, Index n_folds,
                                       std::optional<double> greatest_norm2) {
  std::vector<FittedWeights> out = fit(total(groups, 0, groups.size()), greatest_norm2);
  if (n_folds < 2) return out;
  const Matrix errors = left_out_errors(groups, greatest_norm2, n_folds, static_cast<Index>(out.size()));
  for (std::size_t way = 0; way < out.size(); ++way) {
    const Vector own = errors.row(static_cast<Index>(way)).transpose();
    out[way].risk_cv = mean_over_groups(own, groups).value;
    out[way].gain_cv = mean_over_groups(errors.row(0).transpose() - own, groups);
  }
  return out;
}

}  // namespace headspan::ensemble
