// The Head Diversity Index.

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "experiments/claim_groups.h"
#include "experiments/engine.h"
#include "experiments/replicates.h"
#include "headspan/ensemble/correlation.h"
#include "headspan/ensemble/decomposition.h"
#include "headspan/numeric/decompose.h"
#include "headspan/numeric/gaussian_laws.h"
#include "headspan/subspace/basis.h"
#include "headspan/subspace/frames.h"
#include "headspan/subspace/overlap.h"

namespace headspan::experiments {
namespace {

Matrix random_covariance(RandomStream& random, Index n) {
  const Matrix root = random.normal_matrix(n, n + 1);
  return root * root.transpose();
}

Matrix correlation_of(const Matrix& covariance) {
  const Vector scale = covariance.diagonal().cwiseSqrt().cwiseInverse();
  Matrix out = scale.asDiagonal() * covariance * scale.asDiagonal();
  out.diagonal().setOnes();
  return out;
}

// at: vbar, HDI, H.
double variance_law_formula(const Vector& at) { return at[0] * (1.0 - (1.0 - 1.0 / at[2]) * at[1]); }
double variance_law_of_whole_index(const Vector& at) { return at[0] * (1.0 - at[1]); }

Claim variance_law() {
  const auto measure = [](const Trial& trial) {
    std::vector<Measurement> out;
    for (const Index h : {2, 5}) {
      RandomStream random = trial.stream(h);
      const Matrix covariance = random_covariance(random, h);
      ensemble::HeadMoments moments;
      moments.covariance = Eigen::Map<const Matrix>(covariance.data(), 1, h * h);
      const ensemble::Decomposition parts = decompose(moments);
      out.push_back({fmt::format("{} heads of unequal variance", h), numbers(parts.vbar, *parts.hdi, h),
                     covariance.mean(), kRounding, true});
    }
    return out;
  };
  return {"variance-law",
          "Var F = vbar (1 - (1 - 1/H) HDI), HDI = 1 - cbar/vbar, for any covariance of the heads",
          ClaimKind::identity,
          "the factor 1 in place of 1 - 1/H",
          variance_law_formula,
          variance_law_of_whole_index,
          measure};
}

Claim index_of_sum() {
  const auto measure = [](const Trial& trial) {
    RandomStream random = trial.stream(0);
    const Matrix correlation = correlation_of(random_covariance(random, 6));
    return std::vector<Measurement>{{"6 heads", numbers(correlation.sum(), 6),
                                     *ensemble::head_diversity_index(correlation), kRounding, true}};
  };
  return {"index-of-sum",
          "1 - the mean correlation of two heads is H/(H-1) (1 - 1'R1 / H^2)",
          ClaimKind::identity,
          "the factor H/(H-1) left out",
          [](const Vector& at) { return at[1] / (at[1] - 1.0) * (1.0 - at[0] / (at[1] * at[1])); },
          [](const Vector& at) { return 1.0 - at[0] / (at[1] * at[1]); },
          measure};
}

Claim effective_heads() {
  const auto measure = [](const Trial& trial) {
    RandomStream random = trial.stream(0);
    const Matrix correlation = correlation_of(random_covariance(random, 6));
    const ensemble::Diversity found = ensemble::diversity({"random", correlation}, {}, {});
    return std::vector<Measurement>{
        {"6 heads", numbers(correlation.squaredNorm(), 6), *found.n_eff_2, 1e-11, true}};
  };
  return {"effective-heads",
          "the Hill number of order two of the eigenvalues is H^2 / |R|_F^2",
          ClaimKind::identity,
          "H / |R|_F",
          [](const Vector& at) { return at[1] * at[1] / at[0]; },
          [](const Vector& at) { return at[1] / std::sqrt(at[0]); },
          measure};
}

// Squared norms |U_h U_l^T|_F^2 of a layer of random heads [H, H].
Matrix random_layer(RandomStream& random, Index n_heads, Index k, Index d, Matrix* mean_projector = nullptr) {
  Matrix stacked(n_heads * k, d);
  for (Index h = 0; h < n_heads; ++h)
    stacked.middleRows(h * k, k) =
        subspace::orthonormal_basis(random.normal_matrix(k, d), kUnitRoundoff).frame;
  if (mean_projector) *mean_projector = stacked.transpose() * stacked / static_cast<double>(n_heads);
  const Matrix gram = stacked * stacked.transpose();
  Matrix out(n_heads, n_heads);
  for (Index a = 0; a < n_heads; ++a)
    for (Index b = 0; b < n_heads; ++b) out(a, b) = gram.block(a * k, b * k, k, k).squaredNorm();
  return out;
}

Claim spectral_twin() {
  const auto measure = [](const Trial& trial) {
    constexpr Index kHeads = 5, kDim = 3, kWidth = 9;
    RandomStream random = trial.stream(0);
    Matrix projector;
    const Matrix overlaps = random_layer(random, kHeads, kDim, kWidth, &projector) / kDim;
    const double mean = (overlaps.sum() - kHeads) / (kHeads * (kHeads - 1.0));
    const Vector eigenvalues = symmetric_eigenvalues(projector);
    const double ratio = std::pow(eigenvalues.sum(), 2) / eigenvalues.squaredNorm();
    return std::vector<Measurement>{
        {"5 heads of dimension 3", numbers(kHeads, kDim, mean), ratio, 1e-11, true}};
  };
  return {"spectral-twin",
          "the mean of the heads' projectors has participation ratio H k / (1 + (H-1) mean overlap)",
          ClaimKind::identity,
          "H k (1 - mean overlap)",
          [](const Vector& at) { return at[0] * at[1] / (1.0 + (at[0] - 1.0) * at[2]); },
          [](const Vector& at) { return at[0] * at[1] * (1.0 - at[2]); },
          measure};
}

Claim frame_bound() {
  const auto measure = [](const Trial& trial) {
    std::vector<Measurement> out;
    for (const auto& [h, k, d] : {std::array<Index, 3>{8, 3, 10}, {6, 1, 3}, {5, 2, 6}, {4, 2, 8}}) {
      subspace::FrameOptions options;
      options.seed = trial.seed();
      const subspace::DiverseFrames found = subspace::diverse_frames(h, k, d, options);
      out.push_back({fmt::format("{} heads, k = {}, d = {}: {}", h, k, d, to_string(found.status)),
                     numbers(h, k, d), found.mean_overlap, 1e-6, true});
    }
    return out;
  };
  return {
      "frame-bound",
      "H subspaces of dimension k overlap by at least (H k/d - 1)/(H - 1) on average once H k > d, and tight "
      "fusion frames reach it",
      ClaimKind::closed_form,
      "(H k/d - 1)/H",
      [](const Vector& at) { return std::max(0.0, (at[0] * at[1] / at[2] - 1.0) / (at[0] - 1.0)); },
      [](const Vector& at) { return std::max(0.0, (at[0] * at[1] / at[2] - 1.0) / at[0]); },
      measure};
}

// --- What chance gives.

constexpr Index kHeads = 6, kDim = 3, kWidth = 12;

// Columns: HDI of a layer of random subspaces, and its square.
Matrix random_indices(const Trial& trial) {
  constexpr Index kReplicates = 4000;
  return replicate(trial, trial.hundredfold(kReplicates), 2, [&](RandomStream& random, auto row) {
    row[0] = *ensemble::head_diversity_index(random_layer(random, kHeads, kDim, kWidth) / kDim);
    row[1] = row[0] * row[0];
  });
}

const std::string kLayer = fmt::format("{} heads, k = {}, d = {}", kHeads, kDim, kWidth);

Claim random_baseline() {
  const auto measure = [](const Trial& trial) {
    return std::vector<Measurement>{
        measured_mean(random_indices(trial), 0, kLayer, numbers(kHeads, kDim, kWidth))};
  };
  return {"random-baseline",
          "independent random subspaces have an HDI of 1 - k/d on average",
          ClaimKind::simulation,
          "1 - k/(d + k + 1), the baseline of energies",
          [](const Vector& at) { return 1.0 - at[1] / at[2]; },
          [](const Vector& at) { return 1.0 - at[1] / (at[2] + at[1] + 1.0); },
          measure};
}

double pair_variance(const Vector& at) {
  const auto k = static_cast<Index>(at[1]), d = static_cast<Index>(at[2]);
  return subspace::overlap_law(k, k, d).variance / (at[1] * at[1]);
}

Claim random_baseline_variance() {
  const auto measure = [](const Trial& trial) {
    const auto variance = [](const Vector& means) { return means[1] - means[0] * means[0]; };
    return std::vector<Measurement>{
        measured_function(random_indices(trial), variance, kLayer, numbers(kHeads, kDim, kWidth))};
  };
  return {"random-baseline-variance",
          "its variance is that of one pair over H(H-1)/2: the pairs of a layer are pairwise independent",
          ClaimKind::simulation,
          "the variance of one pair over H, as if the pairs of a head went together",
          [](const Vector& at) { return 2.0 * pair_variance(at) / (at[0] * (at[0] - 1.0)); },
          [](const Vector& at) { return pair_variance(at) / at[0]; },
          measure};
}

Claim energy_baseline() {
  const auto measure = [](const Trial& trial) {
    constexpr Index kHeadDim = 8, kModel = 64, kReplicates = 2000;
    const Matrix energies =
        replicate(trial, trial.hundredfold(kReplicates), 1, [&](RandomStream& random, auto row) {
          const Matrix a = random.normal_matrix(kHeadDim, kModel), b = random.normal_matrix(kHeadDim, kModel);
          row[0] = (a * b.transpose()).squaredNorm() /
                   std::sqrt((a * a.transpose()).squaredNorm() * (b * b.transpose()).squaredNorm());
        });
    // The formula is a ratio of leading orders; the next one is 1/(k d).
    const double departure = 1.0 / (kHeadDim * kModel) * kHeadDim / (kHeadDim + kModel + 1.0);
    return std::vector<Measurement>{
        with_departure(measured_mean(energies, 0, "k = 8, d = 64", numbers(kHeadDim, kModel)), departure)};
  };
  return {
      "energy-baseline",
      "the energies of heads with independent normal weights correlate by k/(d + k + 1), to order 1/(k d)",
      ClaimKind::simulation,
      "k/d, the baseline of subspaces",
      [](const Vector& at) { return at[0] / (at[1] + at[0] + 1.0); },
      [](const Vector& at) { return at[0] / at[1]; },
      measure};
}

// Squared cosine of two maps L^T R of normal entries [k, d], of their own or with one R.
Claim score_baseline() {
  const auto measure = [](const Trial& trial) {
    constexpr Index kReplicates = 20000;
    const Index head_dim = trial.tenfold(3), d = trial.tenfold(10);
    const Matrix squares =
        replicate(trial, trial.tenfold(kReplicates), 2, [&](RandomStream& random, auto row) {
          const auto normal = [&] { return random.normal_matrix(head_dim, d); };
          const Matrix left = normal(), right = normal(), other_left = normal(), other_right = normal();
          const Matrix one = left.transpose() * right, two = other_left.transpose() * other_right;
          const Matrix shared = other_left.transpose() * right;
          row[0] = std::pow((one.array() * two.array()).sum(), 2) / (one.squaredNorm() * two.squaredNorm());
          row[1] =
              std::pow((one.array() * shared.array()).sum(), 2) / (one.squaredNorm() * shared.squaredNorm());
        });
    // With one key head the formula is a ratio of leading orders, within 1/(4 k d^2) of the mean of the
    // ratio.
    const double departure = 0.25 / static_cast<double>(head_dim * d * d);
    return std::vector<Measurement>{
        measured_mean(squares, 0, "keys of their own", numbers(head_dim, d, 0)),
        with_departure(measured_mean(squares, 1, "one key head", numbers(head_dim, d, 1)), departure)};
  };
  return {"score-baseline",
          "the scores of two random heads correlate with variance 1/d^2, and 1/(k d) + 1/d^2 with one key "
          "head, to order 1/(k d^2)",
          ClaimKind::simulation,
          "1/(k d) for both",
          [](const Vector& at) { return 1.0 / (at[1] * at[1]) + at[2] / (at[0] * at[1]); },
          [](const Vector& at) { return 1.0 / (at[0] * at[1]); },
          measure};
}

// --- Monotone at fixed bias, and not otherwise.

constexpr double kFixedBias = 0.3;

// [replicates, dials]: error of four heads of dimension 2 in R^4, each turned by the dial against the one
// before; `terms` gets vbar and HDI of every dial. All values have one mean, and the truth lies kFixedBias
// off.
Matrix errors_over_dials(const Trial& trial, const std::vector<double>& dials, std::vector<Vector>& terms) {
  constexpr Index kKeys = 100, kQueries = 20, kDraws = 100, kReplicates = 800, kMembers = 4;
  constexpr double kHeadBandwidth = 0.8;
  RandomStream fixed = trial.stream(-1);
  const Matrix keys = fixed.normal_matrix(kKeys, 4), queries = fixed.normal_matrix(kQueries, 4);
  std::vector<std::vector<nw::Head>> ensembles;
  for (const double dial : dials) {
    std::vector<Matrix> projections;
    for (Index h = 0; h < kMembers; ++h) projections.push_back(turned_head(2, static_cast<double>(h) * dial));
    ensembles.push_back(heads_of(projections, kHeadBandwidth));
    ensemble::HeadMoments moments;
    moments.covariance = kernel_products(ensembles.back(), queries, keys);
    const ensemble::Decomposition parts = decompose(moments);
    terms.push_back(numbers(parts.vbar, *parts.hdi, kMembers));
  }
  const auto width = static_cast<Index>(dials.size());
  return replicate(trial, trial.hundredfold(kReplicates), width, [&](RandomStream& random, auto row) {
    const Matrix values = random.normal_matrix(kKeys, kDraws);
    for (Index i = 0; i < width; ++i) {
      Matrix sum = Matrix::Zero(kQueries, kDraws);
      const auto& heads = ensembles[static_cast<std::size_t>(i)];
      for (const auto& head : nw::estimate_heads<double>(queries, keys, values, heads, {}).heads)
        sum += head.output;
      row[i] = (sum.array() / kMembers - kFixedBias).square().mean();
    }
  });
}

// at: vbar, HDI, H before the step, then after it.
Formula step_of(double (*law)(const Vector&)) {
  return [law](const Vector& at) { return law(at.tail(3)) - law(at.head(3)); };
}

Claim monotone_at_fixed_bias() {
  const auto measure = [](const Trial& trial) {
    const double degree = std::numbers::pi / 180.0;
    std::vector<Vector> terms;
    const Matrix errors = errors_over_dials(trial, {0.0, 10.0 * degree, 20.0 * degree, 45.0 * degree}, terms);
    Matrix steps(errors.rows(), errors.cols() - 1);
    for (Index i = 0; i < steps.cols(); ++i) steps.col(i) = errors.col(i + 1) - errors.col(i);
    std::vector<Measurement> out;
    for (Index i = 0; i < steps.cols(); ++i) {
      const Vector &before = terms[static_cast<std::size_t>(i)],
                   &after = terms[static_cast<std::size_t>(i) + 1];
      Vector at(6);
      at << before, after;
      out.push_back(
          measured_mean(steps, i, fmt::format("HDI from {:.3f} to {:.3f}", before[1], after[1]), at));
    }
    return out;
  };
  return {"monotone-at-fixed-bias",
          "at fixed bias and head variances the error falls linearly in HDI, by vbar (1 - 1/H) for a unit",
          ClaimKind::simulation,
          "by vbar for a unit",
          step_of(variance_law_formula),
          step_of(variance_law_of_whole_index),
          measure};
}

// Two heads of one dimension over normal inputs, target x_1 and noise one; the second turned away from x_1.
constexpr double kTurnedBandwidth = 0.5;

// Squared bias of their mean for many keys: a head along u gives s cos(theta) u.x, s = 1/(1+b^2).
double turned_bias(double angle) {
  const double s = 1.0 / (1.0 + kTurnedBandwidth * kTurnedBandwidth), c = std::cos(angle);
  const double along = 0.5 * s * (1.0 + c * c) - 1.0, across = 0.5 * s * c * std::sin(angle);
  return along * along + across * across;
}

double turned_index(double angle) {
  const GaussianKernelLaw law(kTurnedBandwidth);
  const double cosine = std::cos(angle);
  return 1.0 - law.correlation(law.log_v(cosine * cosine), 1, 1);
}

// Which rise is asked for, the last argument.
constexpr double kErrorRise = 0.0, kIndexRise = 1.0;

// at: angle, n, which rise.
double rise_with_bias(const Vector& at) {
  return at[2] == kIndexRise ? turned_index(at[0]) : turned_bias(at[0]) - turned_bias(0.0);
}
double rise_at_fixed_bias(const Vector& at) {
  const double variance = std::expm1(GaussianKernelLaw(kTurnedBandwidth).log_v(1.0)) / at[1];
  return at[2] == kIndexRise ? turned_index(at[0]) : -0.5 * variance * turned_index(at[0]);
}

// Columns: error with the second head turned, with both aligned; then covariances in units of 1/n.
Matrix turned_errors(const Trial& trial, double angle, Index n) {
  constexpr Index kReplicates = 100, kQueries = 100;
  const Matrix first = numbers(1.0, 0.0).transpose();
  const Matrix second = numbers(std::cos(angle), std::sin(angle)).transpose();
  const std::vector<nw::Head> heads = heads_of({first, second}, kTurnedBandwidth);
  nw::HeadsOptions options;
  options.covariance = options.average = true;
  return replicate(trial, trial.tenfold(kReplicates), 4, [&](RandomStream& random, auto row) {
    const Matrix keys = random.normal_matrix(n, 2), queries = random.normal_matrix(kQueries, 2);
    const Matrix values = keys.col(0) + random.normal_matrix(n, 1).col(0);
    const auto found = nw::estimate_heads<double>(queries, keys, values, heads, options);
    const Vector one = found.heads[0].output.col(0), two = found.heads[1].output.col(0);
    const Matrix product = static_cast<double>(n) * found.covariance;
    row << (0.5 * (one + two) - queries.col(0)).squaredNorm() / kQueries,
        (one - queries.col(0)).squaredNorm() / kQueries, 0.5 * (product(0, 0) + product(0, 3)), product(0, 1);
  });
}

Claim bias_in_subspace() {
  const auto measure = [](const Trial& trial) {
    constexpr Index kKeys = 2000;
    const Index n = trial.tenfold(kKeys);
    const double angle = std::numbers::pi / 2.0, departure = 5.0 / static_cast<double>(n);
    const Matrix errors = turned_errors(trial, angle, n);
    const auto rise = [](const Vector& means) { return means[0] - means[1]; };
    const auto index = [](const Vector& means) { return (means[2] - means[3]) / (means[2] - 1.0); };
    return std::vector<Measurement>{
        with_departure(measured_function(errors, rise, "rise of the error", numbers(angle, n, kErrorRise)),
                       departure),
        with_departure(measured_function(errors, index, "rise of HDI", numbers(angle, n, kIndexRise)),
                       departure)};
  };
  return {
      "bias-in-subspace",
      "not so: more HDI, less error. Turning a head into a subspace without signal raises HDI from 0 to 1 "
      "and the error with it, since the bias rises",
      ClaimKind::counterexample,
      "the law of fixed bias",
      rise_with_bias,
      rise_at_fixed_bias,
      measure};
}

}  // namespace

std::vector<Claim> diversity_claims() {
  return {variance_law(),   index_of_sum(),           effective_heads(),          spectral_twin(),
          frame_bound(),    random_baseline(),        random_baseline_variance(), energy_baseline(),
          score_baseline(), monotone_at_fixed_bias(), bias_in_subspace()};
}

}  // namespace headspan::experiments
