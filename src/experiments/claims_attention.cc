// One head is a Nadaraya-Watson estimator.

#include <fmt/format.h>

#include <cmath>

#include "experiments/claim_groups.h"
#include "experiments/engine.h"
#include "experiments/replicates.h"
#include "headspan/numeric/optimize.h"

namespace headspan::experiments {
namespace {

using nw::KernelFunction;

// One query among keys and values, packed into the arguments of a formula: d, parameter, query [d], then each
// key [d] with its value.
struct Case {
  double parameter = 0.0;  // temperature, or threshold
  Matrix query;            // [1, d]
  Matrix keys;             // [n, d]
  Matrix values;           // [n, 1]
};

Vector packed(const Case& one) {
  const Index d = one.keys.cols(), n = one.keys.rows();
  Vector at(2 + d + n * (d + 1));
  at[0] = static_cast<double>(d);
  at[1] = one.parameter;
  at.segment(2, d) = one.query.row(0);
  for (Index i = 0; i < n; ++i)
    at.segment(2 + d + i * (d + 1), d + 1) << one.keys.row(i).transpose(), one.values(i, 0);
  return at;
}

Case unpacked(const Vector& at) {
  const auto d = static_cast<Index>(at[0]);
  const Index n = (at.size() - 2 - d) / (d + 1);
  Case one{at[1], at.segment(2, d).transpose(), Matrix(n, d), Matrix(n, 1)};
  for (Index i = 0; i < n; ++i) {
    one.keys.row(i) = at.segment(2 + d + i * (d + 1), d).transpose();
    one.values(i, 0) = at[2 + d + i * (d + 1) + d];
  }
  return one;
}

Case random_case(RandomStream& random, double temperature, double spread) {
  constexpr Index kKeys = 40, kDimension = 3;
  Case one{temperature, spread * random.normal_matrix(1, kDimension),
           spread * random.normal_matrix(kKeys, kDimension), random.normal_matrix(kKeys, 1)};
  return one;
}

// sum_i w_i v_i, w_i proportional to exp(log_weight(i)).
template <class LogWeight>
double weighted_mean(const Case& one, const LogWeight& log_weight) {
  Vector w(one.keys.rows());
  for (Index i = 0; i < w.size(); ++i) w[i] = log_weight(i);
  w = (w.array() - w.maxCoeff()).exp();
  return w.dot(one.values.col(0)) / w.sum();
}

// The Gaussian kernel of bandwidth sqrt(temperature), times exp(sign |k|^2 / 2 temperature) for every key.
double gaussian_with_prior(const Case& one, double sign) {
  return weighted_mean(one, [&](Index i) {
    const double distance = (one.keys.row(i) - one.query.row(0)).squaredNorm();
    return (sign * one.keys.row(i).squaredNorm() - distance) / (2.0 * one.parameter);
  });
}

std::vector<Measurement> attention_outputs(const Trial& trial, bool equal_norms) {
  std::vector<Measurement> out;
  RandomStream random = trial.stream(0);
  for (const double spread : {0.5, 1.0, 4.0}) {
    Case one = random_case(random, std::sqrt(3.0), spread);
    if (equal_norms)
      for (Index i = 0; i < one.keys.rows(); ++i) one.keys.row(i) *= spread / one.keys.row(i).norm();
    const double output = attend(one.query, one.keys, one.values, one.parameter)(0, 0);
    out.push_back({fmt::format("keys of size {}", spread), packed(one), output, kRounding, true});
  }
  return out;
}

Claim softmax_identity() {
  return {"softmax-identity",
          "softmax attention is a Gaussian-kernel estimate of bandwidth sqrt(temperature) whose keys have "
          "prior weights exp(|k|^2 / 2 temperature)",
          ClaimKind::identity,
          "keys without prior weights",
          [](const Vector& at) { return gaussian_with_prior(unpacked(at), 1.0); },
          [](const Vector& at) { return gaussian_with_prior(unpacked(at), 0.0); },
          [](const Trial& trial) { return attention_outputs(trial, false); }};
}

Formula gaussian_of_bandwidth(double power) {
  return [power](const Vector& at) {
    const Case one = unpacked(at);
    return smooth(KernelFunction::gaussian, std::pow(one.parameter, power), one.query, one.keys, one.values)(
        0, 0);
  };
}

Claim equal_norm_keys() {
  return {"equal-norm-keys",
          "with keys of equal norm, softmax attention is the plain Gaussian-kernel estimate of bandwidth "
          "sqrt(temperature)",
          ClaimKind::identity,
          "the temperature itself as bandwidth",
          gaussian_of_bandwidth(0.5),
          gaussian_of_bandwidth(1.0),
          [](const Trial& trial) { return attention_outputs(trial, true); }};
}

// Bandwidth sqrt(|q|^2 + |k|^2 - factor * threshold), keys of one norm.
Formula epanechnikov_of_threshold(double factor) {
  return [factor](const Vector& at) {
    const Case one = unpacked(at);
    const double norms = one.query.squaredNorm() + one.keys.row(0).squaredNorm();
    return smooth(KernelFunction::epanechnikov, std::sqrt(norms - factor * one.parameter), one.query,
                  one.keys, one.values)(0, 0);
  };
}

Claim relu_attention() {
  const auto measure = [](const Trial& trial) {
    std::vector<Measurement> out;
    RandomStream random = trial.stream(0);
    for (const double threshold : {-0.5, 0.0, 0.25}) {
      Case one = random_case(random, threshold, 1.0);
      for (Index i = 0; i < one.keys.rows(); ++i) one.keys.row(i).normalize();
      one.query /= one.query.norm();
      const Vector w = (one.keys * one.query.transpose()).array().max(threshold) - threshold;
      const double output = w.dot(one.values.col(0)) / w.sum();
      out.push_back({fmt::format("threshold {}", threshold), packed(one), output, kRounding, true});
    }
    return out;
  };
  return {"relu-attention",
          "normalised ReLU attention max(q.k - c, 0) over keys of equal norm is the Epanechnikov-kernel "
          "estimate of bandwidth sqrt(|q|^2 + |k|^2 - 2c)",
          ClaimKind::identity,
          "a bandwidth of sqrt(|q|^2 + |k|^2 - c)",
          epanechnikov_of_threshold(2.0),
          epanechnikov_of_threshold(1.0),
          measure};
}

// Each point predicted by a fit from which its row was taken out.
std::vector<Measurement> deleted_residuals(const Trial& trial) {
  constexpr Index kRows = 30, kTried = 5;
  RandomStream random = trial.stream(0);
  const Matrix x = random.normal_matrix(kRows, 2), y = random.normal_matrix(kRows, 1);
  nw::EstimateOptions options;
  options.bandwidth = Vector::Constant(1, 0.6);
  const Matrix fit = nw::estimate<double>(x, x, y, options).output;
  std::vector<Measurement> out;
  for (Index i = 0; i < kTried; ++i) {
    Matrix others = x, values = y;
    others.row(i) = x.row(kRows - 1);
    values.row(i) = y.row(kRows - 1);
    const Matrix left_out =
        nw::estimate<double>(x.row(i), others.topRows(kRows - 1), values.topRows(kRows - 1), options).output;
    // The own weight: the estimate of an indicator of the row.
    const Matrix indicator = Matrix::Identity(kRows, kRows).col(i);
    const double self = nw::estimate<double>(x.row(i), x, indicator, options).output(0, 0);
    out.push_back({fmt::format("row {}", i), numbers(y(i, 0) - fit(i, 0), self), y(i, 0) - left_out(0, 0),
                   kRounding, true});
  }
  return out;
}

Claim leave_one_out() {
  return {"leave-one-out",
          "leaving a row out changes its residual exactly by the factor 1 / (1 - w_ii)",
          ClaimKind::identity,
          "the factor 1 + w_ii, its first order",
          [](const Vector& at) { return at[0] / (1.0 - at[1]); },
          [](const Vector& at) { return at[0] * (1.0 + at[1]); },
          deleted_residuals};
}

// The outputs of one head at a fixed query for values sin(a.x), over fresh standard normal keys.
template <class Output>
std::vector<Measurement> outputs_of_sine(const Trial& trial, const Output& output, double departure) {
  constexpr Index kKeys = 4000, kReplicates = 300, kDimension = 3;
  const Index n = trial.tenfold(kKeys);
  const Vector a = numbers(1.0, -0.5, 0.5), query = numbers(0.8, 0.0, 0.6);
  const Matrix outputs = replicate(trial, trial.tenfold(kReplicates), 1, [&](RandomStream& random, auto row) {
    const Matrix keys = random.normal_matrix(n, kDimension);
    const Matrix values = (keys * a).array().sin();
    row[0] = output(Matrix(query.transpose()), keys, values)(0, 0);
  });
  return {with_departure(
      measured_mean(outputs, 0, fmt::format("{} keys", n), numbers(a.squaredNorm(), a.dot(query))),
      departure / static_cast<double>(n))};
}

Claim localisation() {
  const auto measure = [](const Trial& trial) {
    const auto output = [](const Matrix& query, const Matrix& keys, const Matrix& values) {
      return attend(query, keys, values, 1.0);
    };
    return outputs_of_sine(trial, output, std::exp(1.0));
  };
  return {"localisation",
          "a raw dot-product head over many standard normal keys tends to E m(X + g): its kernel shifts the "
          "mean and does not shrink",
          ClaimKind::simulation,
          "a local smoother, m(g)",
          [](const Vector& at) { return std::exp(-0.5 * at[0]) * std::sin(at[1]); },
          [](const Vector& at) { return std::sin(at[1]); },
          measure};
}

// E m(X) with X normal about query / (1+b^2) with variance b^2 / (1+b^2), for m = sin(a.x).
double smoothed_sine(const Vector& at, double bandwidth) {
  const double b2 = bandwidth * bandwidth;
  return std::exp(-0.5 * at[0] * b2 / (1.0 + b2)) * std::sin(at[1] / (1.0 + b2));
}

Claim gaussian_head_limit() {
  constexpr double kBandwidth = 0.5;
  const auto measure = [](const Trial& trial) {
    const auto output = [](const Matrix& query, const Matrix& keys, const Matrix& values) {
      return smooth(KernelFunction::gaussian, kBandwidth, query, keys, values);
    };
    constexpr double kDeparture = 8.0;  // some n / n_eff at this query
    return outputs_of_sine(trial, output, kDeparture);
  };
  return {"gaussian-head-limit",
          "a squared-distance head of bandwidth b over many standard normal keys is local: it averages m "
          "about x / (1 + b^2) with variance b^2 / (1 + b^2)",
          ClaimKind::simulation,
          "the shrinkage towards the design's mean left out",
          [](const Vector& at) { return smoothed_sine(at, kBandwidth); },
          [](const Vector& at) { return std::exp(-0.5 * at[0] * kBandwidth * kBandwidth) * std::sin(at[1]); },
          measure};
}

// Least risk at the middle of a regular grid of some n keys on [-1, 1]^d, for m = |x|^beta and noise one.
struct LeastRisk {
  double n = 0.0, bandwidth = 0.0, risk = 0.0;
};

LeastRisk least_risk(double beta, Index d, Index per_side) {
  const Index n = d == 1 ? per_side : per_side * per_side;
  Matrix keys(n, d);
  const auto place = [&](Index i) {
    return 2.0 * (static_cast<double>(i) + 0.5) / static_cast<double>(per_side) - 1.0;
  };
  for (Index i = 0; i < n; ++i) {
    keys(i, 0) = place(i % per_side);
    if (d == 2) keys(i, 1) = place(i / per_side);
  }
  const Matrix values = keys.rowwise().norm().array().pow(beta);
  const Matrix query = Matrix::Zero(1, d);
  nw::EstimateOptions options;
  const auto risk = [&](const Vector& log_bandwidth, Vector*) {
    options.bandwidth = Vector::Constant(1, std::exp(log_bandwidth[0]));
    const auto estimate = nw::estimate<double>(query, keys, values, options);
    return estimate.output(0, 0) * estimate.output(0, 0) + 1.0 / estimate.n_eff[0];
  };
  MinimizeOptions how;
  how.method = MinimizeMethod::subplex;
  const Minimum found =
      minimize(risk, numbers(std::log(0.1)), numbers(std::log(1e-3)), numbers(std::log(0.3)), how);
  return {static_cast<double>(n), std::exp(found.at[0]), found.value};
}

// Slopes on log n of the best bandwidth, or of its risk. The grid and the edge of the cube bound the error.
std::vector<Measurement> rates(bool of_risk) {
  constexpr double kBound = 0.01;
  std::vector<Measurement> out;
  const auto slope = [&](double beta, Index d, Index small, Index large) {
    const LeastRisk a = least_risk(beta, d, small), b = least_risk(beta, d, large);
    const double rise = of_risk ? std::log(b.risk / a.risk) : std::log(b.bandwidth / a.bandwidth);
    out.push_back({fmt::format("smoothness {}, dimension {}", beta, d), numbers(beta, d),
                   rise / std::log(b.n / a.n), kBound, true});
  };
  for (const double beta : {1.0, 2.0}) {
    slope(beta, 1, 4000, 32000);
    slope(beta, 2, 200, 400);
  }
  return out;
}

Claim bandwidth_rate() {
  return {"bandwidth-rate",
          "the best bandwidth falls as n^(-1/(2 beta + d)) for smoothness beta in d dimensions",
          ClaimKind::closed_form,
          "n^(-1/(beta + d))",
          [](const Vector& at) { return -1.0 / (2.0 * at[0] + at[1]); },
          [](const Vector& at) { return -1.0 / (at[0] + at[1]); },
          [](const Trial&) { return rates(false); }};
}

Claim risk_rate() {
  return {"risk-rate",
          "the risk at the best bandwidth falls as n^(-2 beta/(2 beta + d))",
          ClaimKind::closed_form,
          "n^(-beta/(beta + d))",
          [](const Vector& at) { return -2.0 * at[0] / (2.0 * at[0] + at[1]); },
          [](const Vector& at) { return -at[0] / (at[0] + at[1]); },
          [](const Trial&) { return rates(true); }};
}

}  // namespace

std::vector<Claim> attention_claims() {
  return {softmax_identity(), equal_norm_keys(),     relu_attention(), leave_one_out(),
          localisation(),     gaussian_head_limit(), bandwidth_rate(), risk_rate()};
}

}  // namespace headspan::experiments
