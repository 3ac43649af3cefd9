// Bias, variance and covariance of an ensemble.

#include <cmath>

#include "experiments/claim_groups.h"
#include "experiments/engine.h"
#include "experiments/replicates.h"
#include "headspan/ensemble/decomposition.h"
#include "headspan/ensemble/replicates.h"

namespace headspan::experiments {
namespace {

using ensemble::LinkedMoments;

// Predictions of any kind: here members that differ in mean and spread, at points that differ too.
ensemble::Replicates random_predictions(const Trial& trial, Index n_members) {
  constexpr Index kReplicates = 7, kPoints = 5;
  RandomStream random = trial.stream(0);
  ensemble::Replicates out;
  out.truth = random.normal_matrix(kPoints, 1);
  const Matrix shift = random.normal_matrix(n_members, kPoints);
  for (Index r = 0; r < kReplicates; ++r) {
    Matrix predictions = shift + random.normal_matrix(n_members, kPoints);
    predictions.rowwise() += random.normal_matrix(1, kPoints).row(0);
    out.predictions.push_back(predictions);
  }
  return out;
}

double mean_squared_error(const ensemble::Replicates& replicates) {
  double sum = 0.0;
  for (const Matrix& predictions : replicates.predictions)
    sum += (predictions.colwise().mean().transpose() - replicates.truth).squaredNorm();
  return sum /
         static_cast<double>(replicates.truth.size() * static_cast<Index>(replicates.predictions.size()));
}

// at: squared bias of the mean, vbar, cbar, H.
double closure_formula(const Vector& at) { return at[0] + at[1] / at[3] + (1.0 - 1.0 / at[3]) * at[2]; }
double closure_of_whole_covariance(const Vector& at) { return at[0] + at[1] / at[3] + at[2]; }

Claim closure() {
  const auto measure = [](const Trial& trial) {
    std::vector<Measurement> out;
    for (const Index h : {2, 4}) {
      const ensemble::Replicates replicates = random_predictions(trial, h);
      const LinkedMoments moments = linked_moments(replicates);
      out.push_back({std::to_string(h) + " members",
                     numbers(moments.squared_bias, moments.mean_variance, moments.cbar, h),
                     mean_squared_error(replicates), kRounding, true});
    }
    return out;
  };
  return {"closure",
          "bias^2 + variance / H + (1 - 1/H) covariance is the mean squared error, for any predictions",
          ClaimKind::identity,
          "covariance with the factor 1",
          closure_formula,
          closure_of_whole_covariance,
          measure};
}

// Oblique heads of one dimension over a fixed design, a curved target, and what is exactly known of them.
struct FixedDesign {
  Matrix keys, queries;
  std::vector<nw::Head> heads;
  double noise = 0.25;

  static Matrix target(const Matrix& x) { return (1.5 * x.col(0)).array().sin() + 0.5 * x.col(1).array(); }
};

FixedDesign fixed_design(RandomStream& random) {
  constexpr Index kKeys = 60, kQueries = 20;
  FixedDesign out{random.normal_matrix(kKeys, 2), random.normal_matrix(kQueries, 2), {}};
  std::vector<Matrix> projections;
  for (const double angle : {0.0, 0.5, 1.2})
    projections.push_back(numbers(std::cos(angle), std::sin(angle)).transpose());
  out.heads = heads_of(projections, 0.4);
  return out;
}

// The mean of the heads' outputs [m, value_dim].
Matrix ensemble_output(const FixedDesign& design, const Matrix& values) {
  const auto found = nw::estimate_heads<double>(design.queries, design.keys, values, design.heads, {});
  Matrix sum = Matrix::Zero(design.queries.rows(), values.cols());
  for (const auto& head : found.heads) sum += head.output;
  return sum / static_cast<double>(found.heads.size());
}

// Exact terms of the closure: squared bias, vbar, cbar, H.
Vector exact_terms(const FixedDesign& design) {
  const Matrix truth = FixedDesign::target(design.queries), values = FixedDesign::target(design.keys);
  ensemble::HeadMoments moments;
  moments.covariance = kernel_products(design.heads, design.queries, design.keys);
  moments.noise.value = design.noise;
  const auto found = nw::estimate_heads<double>(design.queries, design.keys, values, design.heads, {});
  moments.bias.resize(truth.rows(), static_cast<Index>(design.heads.size()));
  for (std::size_t h = 0; h < found.heads.size(); ++h)
    moments.bias.col(static_cast<Index>(h)) = found.heads[h].output - truth;
  const ensemble::Decomposition parts = decompose(moments);
  return numbers(parts.squared_bias->value, parts.vbar, *parts.cbar, design.heads.size());
}

Claim closure_of_smoothers() {
  const auto measure = [](const Trial& trial) {
    constexpr Index kReplicates = 400, kDraws = 100;
    RandomStream fixed = trial.stream(-1);
    const FixedDesign design = fixed_design(fixed);
    const Matrix truth = FixedDesign::target(design.queries), values = FixedDesign::target(design.keys);
    const Matrix errors =
        replicate(trial, trial.hundredfold(kReplicates), 1, [&](RandomStream& random, auto row) {
          // Noise and its mirror image: the product of bias and noise, no part of the sum, falls out.
          Matrix noisy(values.rows(), kDraws);
          noisy.leftCols(kDraws / 2) =
              std::sqrt(design.noise) * random.normal_matrix(values.rows(), kDraws / 2);
          noisy.rightCols(kDraws / 2) = -noisy.leftCols(kDraws / 2);
          const Matrix output = ensemble_output(design, noisy + values.replicate(1, kDraws));
          row[0] = (output - truth.replicate(1, kDraws)).array().square().mean();
        });
    return std::vector<Measurement>{measured_mean(errors, 0, "3 oblique heads", exact_terms(design))};
  };
  return {"closure-of-heads",
          "for heads over given inputs the same sum, from the weights and the noise variance alone, is the "
          "error that noise draws show",
          ClaimKind::simulation,
          "covariance with the factor 1",
          closure_formula,
          closure_of_whole_covariance,
          measure};
}

using Pick = double (*)(const LinkedMoments&);

// One of the identities that link moments; `arguments` gives what the formula may use.
Claim linking(std::string id, std::string statement, std::string wrong, Pick left, Formula formula,
              Formula wrong_formula) {
  const auto measure = [left](const Trial& trial) {
    std::vector<Measurement> out;
    for (const Index h : {2, 5}) {
      const LinkedMoments m = linked_moments(random_predictions(trial, h));
      out.push_back(
          {std::to_string(h) + " members",
           numbers(m.squared_bias, m.variance, m.mean_variance, m.cbar, m.disparity, m.diversity, h), left(m),
           kRounding, true});
    }
    return out;
  };
  return {std::move(id),    std::move(statement), ClaimKind::identity,
          std::move(wrong), std::move(formula),   std::move(wrong_formula),
          measure};
}

enum Linked : Index { kSquaredBias, kVariance, kMeanVariance, kCbar, kDisparity, kDiversity, kMembers };

Claim link_bias() {
  return linking(
      "link-bias", "mean squared bias of the members = squared bias of their mean + disparity",
      "no disparity", [](const LinkedMoments& m) { return m.mean_squared_bias; },
      [](const Vector& at) { return at[kSquaredBias] + at[kDisparity]; },
      [](const Vector& at) { return at[kSquaredBias]; });
}

Claim link_variance() {
  return linking(
      "link-variance", "mean variance of the members = variance of their mean + diversity - disparity",
      "disparity not taken off", [](const LinkedMoments& m) { return m.mean_variance; },
      [](const Vector& at) { return at[kVariance] + at[kDiversity] - at[kDisparity]; },
      [](const Vector& at) { return at[kVariance] + at[kDiversity]; });
}

Claim link_diversity() {
  return linking(
      "link-diversity", "diversity = disparity + (1 - 1/H)(mean variance - mean covariance)",
      "the factor 1 in place of 1 - 1/H", [](const LinkedMoments& m) { return m.diversity; },
      [](const Vector& at) {
        return at[kDisparity] + (1.0 - 1.0 / at[kMembers]) * (at[kMeanVariance] - at[kCbar]);
      },
      [](const Vector& at) { return at[kDisparity] + at[kMeanVariance] - at[kCbar]; });
}

Claim ambiguity_claim() {
  const auto measure = [](const Trial& trial) {
    RandomStream random = trial.stream(0);
    const Matrix predictions = random.normal_matrix(4, 12);
    const Vector y = random.normal_matrix(12, 1), weights = numbers(0.1, 0.2, 0.3, 0.4);
    const ensemble::Ambiguity found = ensemble::ambiguity(predictions, y, weights);
    const double error = (predictions.transpose() * weights - y).squaredNorm() / 12.0;
    return std::vector<Measurement>{
        {"4 weighted members", numbers(found.member_error, found.ambiguity), error, kRounding, true}};
  };
  return {"ambiguity",
          "the ensemble's error is its members' weighted error less their spread about it",
          ClaimKind::identity,
          "the spread not taken off",
          [](const Vector& at) { return at[0] - at[1]; },
          [](const Vector& at) { return at[0]; },
          measure};
}

// Covariances by the engine against centred ones from every single weight.
std::vector<Measurement> grand_mean_parts(const Trial& trial) {
  RandomStream random = trial.stream(0);
  const FixedDesign design = fixed_design(random);
  const Index n = design.keys.rows();
  Vector noise(n);
  for (Index i = 0; i < n; ++i) noise[i] = 0.1 + random.uniform();
  nw::HeadsOptions options;
  options.covariance = true;
  options.noise_variance = noise;
  const Matrix indicators = Matrix::Identity(n, n);  // the outputs are then the weights
  const auto found =
      nw::estimate_heads<double>(design.queries, design.keys, indicators, design.heads, options);
  const double precision = noise.cwiseInverse().sum();
  const Vector grand = noise.cwiseInverse() / precision;
  std::vector<Measurement> out;
  for (const auto& [h, l] : {std::pair{0, 0}, {0, 2}}) {
    const auto weights = [&](int head) { return found.heads[static_cast<std::size_t>(head)].output.row(0); };
    const Vector a = weights(h).transpose() - grand, b = weights(l).transpose() - grand;
    const double centred = (noise.array() * a.array() * b.array()).sum();
    out.push_back({"heads " + std::to_string(h) + " and " + std::to_string(l),
                   numbers(centred, precision, noise.mean(), n), found.covariance(0, h * 3 + l), kRounding,
                   true});
  }
  return out;
}

Claim grand_mean() {
  return {"grand-mean",
          "the covariance of two heads is 1 / sum(1/s2_i), which no weights can remove, plus the covariance "
          "of the centred weights",
          ClaimKind::identity,
          "the mean of s2_i over n as the part that cannot be removed",
          [](const Vector& at) { return at[0] + 1.0 / at[1]; },
          [](const Vector& at) { return at[0] + at[2] / at[3]; },
          grand_mean_parts};
}

// Leave-one-out outputs [n, value_dim] of two bandwidths.
std::array<Matrix, 2> left_out_outputs(const Matrix& x, const Matrix& values,
                                       const std::vector<nw::Head>& heads) {
  nw::HeadsOptions options;
  options.leave_one_out = true;
  auto found = nw::estimate_heads<double>(x, x, values, heads, options);
  return {std::move(found.heads[0].output), std::move(found.heads[1].output)};
}

// Means over the points of what the residual product consists of: noise, biases, and the covariance of the
// leave-one-out weights beside that of the weights with the point itself.
Vector residual_terms(const Matrix& x, const Matrix& truth, const std::vector<nw::Head>& heads,
                      double noise) {
  const auto output = left_out_outputs(x, truth, heads);
  const double biases = ((output[0] - truth).array() * (output[1] - truth).array()).mean();
  const Matrix in_sample = kernel_products(heads, x, x);
  Matrix self(x.rows(), 2);
  nw::HeadsOptions options;
  options.leave_one_out = true;
  const auto found = nw::estimate_heads<double>(x, x, truth, heads, options);
  for (Index h = 0; h < 2; ++h) self.col(h) = found.heads[static_cast<std::size_t>(h)].self_weight;
  const Matrix left_out = ensemble::leave_one_out_covariance(in_sample, self);
  return numbers(noise, biases, noise * left_out.col(1).mean(), noise * in_sample.col(1).mean());
}

Claim left_out_covariance() {
  const auto measure = [](const Trial& trial) {
    constexpr Index kRows = 50, kReplicates = 800, kDraws = 200;
    constexpr double kNoise = 1.0;
    RandomStream fixed = trial.stream(-1);
    Matrix x(kRows, 1);
    for (Index i = 0; i < kRows; ++i) x(i, 0) = fixed.uniform();
    const Matrix truth = (6.0 * x).array().sin();
    const std::vector<nw::Head> heads = {{Matrix(), numbers(0.03)}, {Matrix(), numbers(0.05)}};
    const Matrix products =
        replicate(trial, trial.hundredfold(kReplicates), 1, [&](RandomStream& random, auto row) {
          const Matrix y =
              truth.replicate(1, kDraws) + std::sqrt(kNoise) * random.normal_matrix(kRows, kDraws);
          const auto output = left_out_outputs(x, y, heads);
          row[0] = ((y - output[0]).array() * (y - output[1]).array()).mean();
        });
    return std::vector<Measurement>{
        measured_mean(products, 0, "two bandwidths", residual_terms(x, truth, heads, kNoise))};
  };
  return {"left-out-covariance",
          "the mean product of two heads' leave-one-out residuals is noise + product of biases + covariance "
          "of the leave-one-out weights",
          ClaimKind::simulation,
          "covariance of the weights with the point itself",
          [](const Vector& at) { return at[0] + at[1] + at[2]; },
          [](const Vector& at) { return at[0] + at[1] + at[3]; },
          measure};
}

// Squared bias of c times the sum of H heads, each on one coordinate, for m = sum_j sin(a x_j) and many keys:
// each head averages its own sine about x / (1+b^2) with variance b^2 / (1+b^2), and sees nothing of the
// others.
double additive_bias(double a, double b, double h, double c) {
  const double shrink = 1.0 / (1.0 + b * b), inner = a * shrink;
  const double factor = c * std::exp(-0.5 * a * a * b * b * shrink);
  // E sin(p x) sin(q x) of a standard normal x.
  const auto product = [](double p, double q) {
    return 0.5 * (std::exp(-0.5 * (p - q) * (p - q)) - std::exp(-0.5 * (p + q) * (p + q)));
  };
  return h * (product(a, a) - 2.0 * factor * product(a, inner) + factor * factor * product(inner, inner));
}

// Columns: squared bias of the mean and of the sum, without that of finite variance: a product of the errors
// of two training sets.
Matrix squared_biases(const Trial& trial, Index n, double a, double b, Index h) {
  constexpr Index kReplicates = 60, kQueries = 100;
  std::vector<Matrix> axes;
  for (Index j = 0; j < h; ++j) axes.push_back(Matrix::Identity(h, h).row(j));
  const std::vector<nw::Head> heads = heads_of(axes, b);
  const auto sum_of_heads = [&](RandomStream& random, const Matrix& queries) {
    const Matrix keys = random.normal_matrix(n, h);
    const Matrix values = (a * keys).array().sin().rowwise().sum();
    Matrix sum = Matrix::Zero(queries.rows(), 1);
    for (const auto& head : nw::estimate_heads<double>(queries, keys, values, heads, {}).heads)
      sum += head.output;
    return sum;
  };
  return replicate(trial, trial.tenfold(kReplicates), 2, [&](RandomStream& random, auto row) {
    const Matrix queries = random.normal_matrix(kQueries, h);
    const Matrix truth = (a * queries).array().sin().rowwise().sum();
    const Matrix one = sum_of_heads(random, queries), two = sum_of_heads(random, queries);
    const double mean = 1.0 / static_cast<double>(h);
    row[0] = ((mean * one - truth).array() * (mean * two - truth).array()).mean();
    row[1] = ((one - truth).array() * (two - truth).array()).mean();
  });
}

Claim mean_is_not_the_only_combiner() {
  const auto measure = [](const Trial& trial) {
    constexpr Index kKeys = 1000, kHeads = 4;
    constexpr double kFrequency = 1.5, kBandwidth = 0.2;
    const Index n = trial.tenfold(kKeys);
    const Matrix biases = squared_biases(trial, n, kFrequency, kBandwidth, kHeads);
    const double departure = 1.0 / (kBandwidth * static_cast<double>(n));
    return std::vector<Measurement>{
        with_departure(
            measured_mean(biases, 0, "mean", numbers(kFrequency, kBandwidth, kHeads, 1.0 / kHeads)),
            departure),
        with_departure(measured_mean(biases, 1, "sum", numbers(kFrequency, kBandwidth, kHeads, 1.0)),
                       departure)};
  };
  return {"mean-misses-additive",
          "not so: averaging heads is harmless. With an additive target, one part per orthogonal head, the "
          "mean keeps a squared bias near (1 - 1/H)^2 Var m that the sum does not have",
          ClaimKind::counterexample,
          "the squared bias of the sum for that of the mean",
          [](const Vector& at) { return additive_bias(at[0], at[1], at[2], at[3]); },
          [](const Vector& at) { return additive_bias(at[0], at[1], at[2], 1.0); },
          measure};
}

}  // namespace

std::vector<Claim> decomposition_claims() {
  return {closure(),       closure_of_smoothers(), link_bias(),
          link_variance(), link_diversity(),       ambiguity_claim(),
          grand_mean(),    left_out_covariance(),  mean_is_not_the_only_combiner()};
}

}  // namespace headspan::experiments
