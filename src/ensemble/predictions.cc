#include "headspan/ensemble/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ensemble/fitted_weights.h"
#include "ensemble/moment_groups.h"
#include "ensemble/prediction_terms.h"
#include "headspan/numeric/error.h"

namespace headspan::ensemble {
namespace {

constexpr double kDoubtful = 100.0, kUnlikely = 10.0, kMostSquare = 1e140;
constexpr std::size_t kFewestLabels = 3;

void check_options(const PredictionOptions& options) {
  if (options.n_bootstrap < 0 || options.n_bootstrap == 1)
    throw ArgumentError(fmt::format("n_bootstrap: 0 or at least 2 wanted, it is {}", options.n_bootstrap));
  if (options.n_folds < 2)
    throw ArgumentError(fmt::format("n_folds: at least 2 wanted, it is {}", options.n_folds));
}

/// Terms from their definitions, not from one another, so that the closure is a check.
void add_terms(const Replicates& replicates, PredictionFacts& out) {
  const double count = static_cast<double>(out.n_replicates), h = static_cast<double>(out.n_members);
  for (const Matrix& f : replicates.predictions) {
    const Ambiguity one = ambiguity(f, replicates.truth);
    out.mse.value += one.ensemble_error / count;
    out.mean_member_mse.value += one.member_error / count;
    out.ambiguity.value += one.ambiguity / count;
  }
  out.closure = out.mse.value - (out.mean_member_mse.value - out.ambiguity.value);
  if (out.n_replicates == 1) return;
  const LinkedMoments linked = linked_moments(replicates);
  const auto estimated = [](double value) { return Part{value, Origin::estimated, {}}; };
  out.bias2 = estimated(linked.squared_bias);
  out.variance = estimated(linked.mean_variance);
  if (out.n_members > 1) out.covariance = estimated(linked.cbar);
  out.disparity = estimated(linked.disparity);
  out.diversity = estimated(linked.diversity);
  const double shared = (1.0 - 1.0 / h) * linked.cbar;
  out.closure = out.mse.value - (linked.squared_bias + linked.mean_variance / h + shared);
  out.linking_closure = std::max(
      {std::abs(linked.mean_squared_bias - linked.squared_bias - linked.disparity),
       std::abs(linked.mean_variance - linked.variance - linked.diversity + linked.disparity),
       std::abs(linked.diversity - linked.disparity - (1.0 - 1.0 / h) * linked.mean_variance + shared)});
  if (out.n_replicates >= 3) out.unbiased = decompose_replicates(replicates);
}

void add_correlation(const MomentSums& sums, PredictionFacts& out) {
  const double n = static_cast<double>(sums.n_points);
  const bool has_replicates = out.n_replicates > 1;
  out.error_second_moments = sums.errors / n;
  out.correlation_of = has_replicates ? "replicates" : "errors";
  out.correlation =
      correlation_of_moments(has_replicates ? Matrix(sums.covariance / n) : out.error_second_moments);
  const Vector own = has_replicates ? sums.covariance.diagonal() : sums.errors.diagonal();
  for (Index h = 0; h < own.size(); ++h)
    if (!(own[h] > 0.0)) out.uncorrelated.push_back(h);
  if (!out.correlation) return;
  const PredictionTerms terms = prediction_terms(sums);
  const Origin origin = has_replicates ? Origin::estimated : Origin::exact;
  if (out.n_members > 1) out.hdi = Part{terms.hdi, origin, {}};
  out.n_eff_2 = Part{terms.n_eff_2, origin, {}};
}

/// "labels" of whole numbers, all different, though n drawn from their range would differ with a chance below
/// e^-10; "groups" of three or more, each as often as the others.
const char* label_kind(const Vector& values) {
  std::map<double, Index> counts;
  for (const double value : values) {
    if (value != std::floor(value)) return nullptr;
    ++counts[value];
  }
  const double n = static_cast<double>(values.size()),
               range = counts.rbegin()->first - counts.begin()->first + 1.0;
  const Index each = counts.begin()->second;
  if (std::any_of(counts.begin(), counts.end(), [&](const auto& one) { return one.second != each; }))
    return nullptr;
  if (each > 1) return counts.size() >= kFewestLabels ? "groups" : nullptr;
  return n * n > kUnlikely * 2.0 * range ? "labels" : nullptr;
}

void add_doubtful(const Replicates& replicates, PredictionFacts& out) {
  const Vector own = out.error_second_moments.diagonal(), &truth = replicates.truth;
  std::vector<double> sorted(own.begin(), own.end());
  std::sort(sorted.begin(), sorted.end());
  const double spread = (truth.array() - truth.mean()).square().mean();
  const double usual = std::max(sorted[(sorted.size() - 1) / 2], spread);
  const bool truth_counts = label_kind(truth) != nullptr;
  for (Index h = 0; h < own.size(); ++h) {
    const char* kind = truth_counts ? nullptr : label_kind(replicates.predictions.front().row(h).transpose());
    if (own[h] > kDoubtful * usual)
      out.doubtful.push_back({h, "error"});
    else if (kind)
      out.doubtful.push_back({h, kind});
  }
}

void add_standard_errors(const PredictionTerms& error, PredictionFacts& out) {
  const auto set = [](std::optional<Part>& part, double value) {
    if (part && std::isfinite(value)) part->standard_error = value;
  };
  out.mse.standard_error = error.mse;
  out.mean_member_mse.standard_error = error.mean_member_mse;
  out.ambiguity.standard_error = error.ambiguity;
  set(out.bias2, error.bias2);
  set(out.variance, error.variance);
  set(out.covariance, error.covariance);
  set(out.disparity, error.disparity);
  set(out.diversity, error.ambiguity);  // the same mean over the points
  set(out.hdi, error.hdi);
  set(out.n_eff_2, error.n_eff_2);
}

/// Of groups that are independent of one another.
void add_weights(const std::vector<MomentSums>& groups, const PredictionOptions& options,
                 PredictionFacts& out) {
  if (groups.size() > 1) out.n_folds = std::min(options.n_folds, static_cast<int>(groups.size()));
  out.weights = fit_weights(groups, out.n_folds, options.greatest_norm2);
  std::vector<Matrix> moments;
  std::vector<Index> sizes;
  for (const MomentSums& group : groups) {
    moments.push_back(group.errors);
    sizes.push_back(group.n_points);
  }
  out.alike = exchangeability_test(moments, sizes);
}

}  // namespace

PredictionFacts decompose_predictions(const Replicates& replicates, const PredictionOptions& options) {
  check_options(options);
  if (replicates.predictions.empty()) throw ArgumentError("predictions: at least one replicate wanted");
  PredictionFacts out;
  out.n_points = replicates.truth.size();
  out.n_members = replicates.predictions.front().rows();
  out.n_replicates = static_cast<Index>(replicates.predictions.size());
  add_terms(replicates, out);
  const double size = out.mean_member_mse.value;
  if (!(size < kMostSquare) || (size > 0.0 && size < 1.0 / kMostSquare))
    throw ArgumentError(fmt::format(
        "predictions: the mean squared error of the members is {:.3g}, and fourth powers of errors leave "
        "double beyond {:.0e} and below {:.0e}; give them in other units",
        size, kMostSquare, 1.0 / kMostSquare));
  const std::vector<MomentSums> groups = group_moments(replicates, options.seed);
  out.n_groups = static_cast<Index>(groups.size());
  MomentSums sums = MomentSums::nothing_like(groups.front());
  for (const MomentSums& group : groups) sums.add(group, 1.0);
  add_correlation(sums, out);
  add_doubtful(replicates, out);
  if (options.n_bootstrap > 0 && out.n_points > 1) {
    out.n_bootstrap = options.n_bootstrap;
    add_standard_errors(bootstrap_errors(groups, options.n_bootstrap, options.seed), out);
  }
  add_weights(out.n_replicates > 1 ? moments_of_replicates(replicates) : groups, options, out);
  return out;
}

}  // namespace headspan::ensemble
