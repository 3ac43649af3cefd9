// From angles to correlation: why orthogonal heads help.

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "experiments/claim_groups.h"
#include "experiments/engine.h"
#include "experiments/many_scores.h"
#include "experiments/replicates.h"
#include "headspan/numeric/decompose.h"
#include "headspan/numeric/gaussian_laws.h"

namespace headspan::experiments {
namespace {

constexpr double kStep = 15.0 * std::numbers::pi / 180.0;

std::string degrees(double radians) {
  return fmt::format("{:.0f} degrees", radians * 180.0 / std::numbers::pi);
}

// Row h: the mean over all pairs of heads that are h steps apart.
Eigen::RowVectorXd by_difference(const Matrix& products) {
  const Index n = products.rows();
  Eigen::RowVectorXd out(n);
  for (Index apart = 0; apart < n; ++apart) out[apart] = products.diagonal(apart).mean();
  return out;
}

// The share of its removable variance that a head loses when it is averaged with another: (1 - rho) / 2. Of
// covariances in units of s2/n, of which 1 cannot be removed.
Measurement gain_of_averaging(const Matrix& products, Index apart, std::string what, Vector at) {
  const auto gain = [apart](const Vector& means) {
    return 0.5 * (means[0] - means[apart]) / (means[0] - 1.0);
  };
  return measured_function(products, gain, std::move(what), std::move(at));
}

// --- Gaussian kernel, Gaussian design: heads of dimension 2 in R^4, all angles of a pair equal.

constexpr double kAngleBandwidth = 1.0;
constexpr Index kAngleHeadDim = 2;

/// Departures of n C_12 / s2, and of the share of variance removed, from their limits at every angle, in
/// units of 1/n.
constexpr double kKernelDeparture = 10.0, kKernelGainDeparture = 3.0;
constexpr Index kKernelKeys = 2000;

// [replicates, 7]: n C_12 / s2 averaged over queries of the design, at 0, 15, ... 90 degrees.
Matrix kernel_angles(const Trial& trial) {
  constexpr Index kReplicates = 100, kQueries = 100, kHeads = 7;
  const Index n = trial.tenfold(kKernelKeys);
  std::vector<Matrix> projections;
  for (Index h = 0; h < kHeads; ++h)
    projections.push_back(turned_head(kAngleHeadDim, static_cast<double>(h) * kStep));
  nw::HeadsOptions options;
  options.covariance = options.average = true;
  const std::vector<nw::Head> heads = heads_of(projections, kAngleBandwidth);
  return replicate(trial, trial.tenfold(kReplicates), kHeads, [&](RandomStream& random, auto row) {
    const Matrix queries = random.normal_matrix(kQueries, 2 * kAngleHeadDim);
    const Matrix keys = random.normal_matrix(n, 2 * kAngleHeadDim), values = Matrix::Zero(n, 1);
    const Matrix products = nw::estimate_heads<double>(queries, keys, values, heads, options).covariance;
    row = static_cast<double>(n) * by_difference(Eigen::Map<const Matrix>(products.data(), kHeads, kHeads));
  });
}

double log_product(const Vector& at) {
  const double cosine = std::cos(at[0]);
  return kAngleHeadDim * GaussianKernelLaw(kAngleBandwidth).log_v(cosine * cosine);
}

Claim kernel_law() {
  const auto measure = [](const Trial& trial) {
    const Matrix products = kernel_angles(trial);
    std::vector<Measurement> out;
    for (Index apart = 0; apart < products.cols(); ++apart) {
      const double angle = static_cast<double>(apart) * kStep;
      out.push_back(with_departure(measured_mean(products, apart, degrees(angle), numbers(angle)),
                                   kKernelDeparture / static_cast<double>(trial.tenfold(kKernelKeys))));
    }
    return out;
  };
  return {
      "kernel-law",
      "the covariance of two Gaussian-kernel heads over a normal design is s2/n times prod V(cos theta_j)",
      ClaimKind::simulation,
      "the law at the centre of the design, prod (1 - kappa^2 cos^2 theta_j)^(-1/2)",
      [](const Vector& at) { return std::exp(log_product(at)); },
      [](const Vector& at) {
        const double kappa = 1.0 / (1.0 + kAngleBandwidth * kAngleBandwidth), c = kappa * std::cos(at[0]);
        return std::pow(1.0 - c * c, -0.5 * kAngleHeadDim);
      },
      measure};
}

Claim kernel_angles_claim() {
  const auto measure = [](const Trial& trial) {
    const Matrix products = kernel_angles(trial);
    std::vector<Measurement> out;
    for (Index apart = 0; apart < products.cols(); ++apart) {
      const double angle = static_cast<double>(apart) * kStep;
      out.push_back(with_departure(gain_of_averaging(products, apart, degrees(angle), numbers(angle)),
                                   kKernelGainDeparture / static_cast<double>(trial.tenfold(kKernelKeys))));
    }
    return out;
  };
  return {"kernel-angles",
          "averaging two Gaussian-kernel heads removes (1 - rho(theta))/2 of their removable variance: "
          "nothing when aligned, half when orthogonal",
          ClaimKind::simulation,
          "cos^2 theta, the limit of wide kernels, for rho",
          [](const Vector& at) {
            const double rho =
                GaussianKernelLaw(kAngleBandwidth).correlation(log_product(at), kAngleHeadDim, kAngleHeadDim);
            return 0.5 * (1.0 - rho);
          },
          [](const Vector& at) { return 0.5 * std::sin(at[0]) * std::sin(at[0]); },
          measure};
}

Claim wide_kernels() {
  const auto measure = [](const Trial&) {
    constexpr double kWide = 1e3;
    const GaussianKernelLaw law(kWide);
    std::vector<Measurement> out;
    for (const auto& [a, b] : {std::pair{0.5, 0.2}, {1.0, 0.0}}) {
      const double rho = law.correlation(law.log_v(a) + law.log_v(b), 2, 2);
      out.push_back({fmt::format("cosines squared {} and {}", a, b), numbers(a, b), rho, 1e-5, true});
    }
    return out;
  };
  return {
      "wide-kernels",
      "as the bandwidth grows the correlation of two heads tends to their overlap, the mean squared cosine",
      ClaimKind::closed_form,
      "the mean cosine",
      [](const Vector& at) { return 0.5 * (at[0] + at[1]); },
      [](const Vector& at) { return 0.5 * (std::sqrt(at[0]) + std::sqrt(at[1])); },
      measure};
}

// At the centre of the design, kappa = 0.9; at: cosines squared of the two angles.
Claim equal_overlap() {
  constexpr double kKappa = 0.9;
  const auto measure = [](const Trial& trial) {
    constexpr Index kKeys = 4000, kReplicates = 300;
    const Index n = trial.tenfold(kKeys);
    const double bandwidth = std::sqrt(1.0 / kKappa - 1.0);
    Matrix shared = Matrix::Zero(kAngleHeadDim, 2 * kAngleHeadDim);
    shared(0, 0) = shared(1, 3) = 1.0;
    const std::vector<nw::Head> heads = heads_of(
        {turned_head(kAngleHeadDim, 0.0), turned_head(kAngleHeadDim, std::numbers::pi / 4.0), shared},
        bandwidth);
    const Matrix products =
        replicate(trial, trial.tenfold(kReplicates), 2, [&](RandomStream& random, auto row) {
          const Matrix keys = random.normal_matrix(n, 2 * kAngleHeadDim);
          const Matrix found = kernel_products(heads, Matrix::Zero(1, 2 * kAngleHeadDim), keys);
          row << static_cast<double>(n) * found(0, 1), static_cast<double>(n) * found(0, 2);
        });
    // The square of the aligned heads' n w.w, 5.26, is what a ratio of means of n keys is off by.
    const double departure = 30.0 / static_cast<double>(n);
    return std::vector<Measurement>{
        with_departure(measured_mean(products, 0, "two angles of 45 degrees", numbers(0.5, 0.5)), departure),
        with_departure(measured_mean(products, 1, "angles of 0 and 90 degrees", numbers(1.0, 0.0)),
                       departure)};
  };
  const auto law = [](double a, double b) {
    return 1.0 / std::sqrt((1.0 - kKappa * kKappa * a) * (1.0 - kKappa * kKappa * b));
  };
  return {"equal-overlap",
          "not so: the covariance of heads is a function of their overlap. Cosines squared (0.5, 0.5) and "
          "(1, 0) have equal overlap and covariances 1.681 and 2.294",
          ClaimKind::counterexample,
          "every angle replaced by the one of mean cosine squared",
          [law](const Vector& at) { return law(at[0], at[1]); },
          [law](const Vector& at) { return law(0.5 * (at[0] + at[1]), 0.5 * (at[0] + at[1])); },
          measure};
}

// --- Softmax kernel, Gaussian keys: heads whose effective queries turn by 15 degrees in the inner product
// of the keys' covariance S, all of score variance one.

constexpr Index kSoftmaxKeys = 4000;
constexpr double kSoftmaxGainDeparture = 5.0;  // as kKernelGainDeparture

// [replicates, 13]: n w_h.w_l at 0, 15, ... 180 degrees.
Matrix softmax_angles(const Trial& trial) {
  constexpr Index kReplicates = 200, kHeads = 13;
  const Index n = trial.tenfold(kSoftmaxKeys);
  Matrix root(3, 3);  // keys are z root^T: S = root root^T
  root << 1.4, 0.0, 0.0, 0.4, 0.9, 0.0, 0.3, -0.2, 0.7;
  // Rows e^T root^-1, e turning in the plane of the first two axes: e^T e' = g^T S g'.
  Matrix effective = Matrix::Zero(kHeads, 3);
  for (Index h = 0; h < kHeads; ++h) {
    effective(h, 0) = std::cos(static_cast<double>(h) * kStep);
    effective(h, 1) = std::sin(static_cast<double>(h) * kStep);
  }
  root.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(effective);
  return replicate(trial, trial.tenfold(kReplicates), kHeads, [&](RandomStream& random, auto row) {
    const Matrix keys = random.normal_matrix(n, 3) * root.transpose();
    row = static_cast<double>(n) * by_difference(softmax_products(effective, keys));
  });
}

std::vector<Measurement> softmax_gains(const Trial& trial, Index first, Index last) {
  const Matrix products = softmax_angles(trial);
  std::vector<Measurement> out;
  for (Index apart = first; apart <= last; ++apart) {
    const double angle = static_cast<double>(apart) * kStep;
    out.push_back(with_departure(gain_of_averaging(products, apart, degrees(angle), numbers(std::cos(angle))),
                                 kSoftmaxGainDeparture / static_cast<double>(trial.tenfold(kSoftmaxKeys))));
  }
  return out;
}

// at: cosine in the inner product of S; score variance one.
double softmax_gain(const Vector& at) { return 0.5 * (1.0 - std::expm1(at[0]) / std::expm1(1.0)); }

Claim softmax_angles_claim() {
  return {
      "softmax-angles",
      "averaging two softmax heads removes (1 - rho)/2 of their removable variance, rho = (exp(g_h'S g_l) "
      "- 1) / (exp(g'S g) - 1): nothing when aligned, half when orthogonal",
      ClaimKind::simulation,
      "the correlation of the scores, the first order, for rho",
      softmax_gain,
      [](const Vector& at) { return 0.5 * (1.0 - at[0]); },
      [](const Trial& trial) { return softmax_gains(trial, 0, 6); }};
}

Claim softmax_beyond_orthogonal() {
  return {"softmax-beyond-orthogonal",
          "softmax heads with opposing scores do better than orthogonal ones: their correlation is negative "
          "and averaging removes more than half",
          ClaimKind::simulation,
          "orthogonal as the best there is: half",
          softmax_gain,
          [](const Vector& at) { return std::min(0.5, softmax_gain(at)); },
          [](const Trial& trial) { return softmax_gains(trial, 7, 12); }};
}

// n sum_i w_i^2 of one softmax head, scores of variance v.
std::vector<Measurement> concentrations(const Trial& trial, std::vector<double> variances) {
  constexpr Index kKeys = 2000, kReplicates = 2000;
  Matrix effective(static_cast<Index>(variances.size()), 1);
  for (std::size_t i = 0; i < variances.size(); ++i)
    effective(static_cast<Index>(i), 0) = std::sqrt(variances[i]);
  const Matrix squares =
      replicate(trial, trial.hundredfold(kReplicates), effective.rows(), [&](RandomStream& random, auto row) {
        row = kKeys * softmax_products(effective, random.normal_matrix(kKeys, 1)).diagonal().transpose();
      });
  std::vector<Measurement> out;
  for (std::size_t i = 0; i < variances.size(); ++i)
    out.push_back(measured_mean(squares, static_cast<Index>(i),
                                fmt::format("score variance {}", variances[i]),
                                numbers(variances[i], kKeys)));
  return out;
}

Claim few_keys_take_all() {
  return {
      "few-keys-take-all",
      "not so: n w.w tends to exp(score variance) whatever the variance. Beyond (log n)/2 a few keys carry "
      "the weight, and n w.w is n^2 int t E[e^(2s - t e^s)] (E e^(-t e^s))^(n-1) dt",
      ClaimKind::counterexample,
      "exp(score variance)",
      [](const Vector& at) { return concentration_of_softmax(at[0], at[1]); },
      [](const Vector& at) { return std::exp(at[0]); },
      [](const Trial& trial) {
        return concentrations(trial, {1.0, 4.0, 6.25});
      }};
}

// Covariance of what two heads write, keys carrying noise of covariance G: Monte Carlo over the noise.
std::vector<Measurement> written_covariances(const Trial& trial) {
  constexpr Index kKeys = 20, kDimension = 3, kReplicates = 2000, kDraws = 100;
  RandomStream fixed = trial.stream(-1);
  const Matrix keys = fixed.normal_matrix(kKeys, kDimension);
  Matrix queries = fixed.normal_matrix(2, kDimension);
  queries.row(1) = 0.5 * queries.row(0);
  const Matrix weights = attend(queries, keys, Matrix::Identity(kKeys, kKeys), 1.0);  // [2, n]
  Matrix one(kDimension, kDimension), two(kDimension, kDimension);                    // OV of the heads
  one << 1.0, 0.5, 0.0, 0.0, 1.0, -0.5, 0.3, 0.0, 1.0;
  two << 1.0, 0.0, 0.4, 0.2, 0.8, 0.0, 0.0, -0.3, 0.6;
  const Vector deviations = numbers(3.0, 0.5, 0.5);
  const Matrix noise = deviations.cwiseAbs2().asDiagonal();
  const Matrix products =
      replicate(trial, trial.hundredfold(kReplicates), 1, [&](RandomStream& random, auto row) {
        row[0] = 0.0;
        for (Index i = 0; i < kDraws; ++i) {
          const Matrix mixed = weights * random.normal_matrix(kKeys, kDimension) * deviations.asDiagonal();
          row[0] += (one * mixed.row(0).transpose()).dot(two * mixed.row(1).transpose()) / kDraws;
        }
      });
  const double common = weights.row(0).dot(weights.row(1));
  return {measured_mean(products, 0, "two heads",
                        numbers(common, (one * noise * two.transpose()).trace(),
                                (one * two.transpose()).trace() * noise.trace() / kDimension))};
}

Claim written_covariance() {
  return {"written-covariance",
          "the covariance of what two heads write has trace (w_h.w_l) tr(OV_h G OV_l^T)",
          ClaimKind::simulation,
          "noise of equal size in every direction, tr(OV_h OV_l^T) tr(G)/d",
          [](const Vector& at) { return at[0] * at[1]; },
          [](const Vector& at) { return at[0] * at[2]; },
          written_covariances};
}

}  // namespace

std::vector<Claim> correlation_claims() {
  return {kernel_law(),           kernel_angles_claim(),       wide_kernels(),      equal_overlap(),
          softmax_angles_claim(), softmax_beyond_orthogonal(), few_keys_take_all(), written_covariance()};
}

}  // namespace headspan::experiments
