#include "estimator/noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "estimator/prepare.h"
#include "estimator/smooth.h"
#include "estimator/standardise.h"
#include "headspan/estimator/heads.h"
#include "headspan/estimator/learn.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {
namespace {

constexpr Index kMostExactRows = 256, kSignVectors = 32, kMostNoiseRows = 2000;
constexpr int kNoiseEvaluations = 30;
constexpr std::uint64_t kSignSeed = 0x7369676e;  // "sign"

/// [b, n] whose products with a matrix A give its trace as the sum of z A z^T: the identity, or random signs.
Matrix trace_vectors(Index n) {
  if (n <= kMostExactRows) return Matrix::Identity(n, n);
  RandomStream random(kSignSeed, 0);
  const double size = 1.0 / std::sqrt(static_cast<double>(kSignVectors));
  Matrix out(kSignVectors, n);
  for (double& entry : out.reshaped()) entry = random.uniform() < 0.5 ? -size : size;
  return out;
}

double mean_square(const Vector& residual, const Vector& frequency) {
  return frequency.dot(residual.cwiseAbs2()) / frequency.sum();
}

/// The projection on which squared residuals are smoothed: one bandwidth per input.
Matrix noise_head(const Model& model, const Vector& squares) {
  const Index n = model.keys.rows(), q = model.keys.cols();
  const std::vector<Index> sample = sampled_rows(n, kMostNoiseRows, RandomStream(kSignSeed, 1));
  const Matrix x = model.keys(sample, Eigen::all);
  const Vector values = squares(sample), frequency = model.frequency(sample), one = Vector::Ones(1);
  std::vector<Matrix> head = {starting_scale(frequency.sum(), q) / std::sqrt(static_cast<double>(q)) *
                              Matrix::Identity(q, q)};
  // From the best common bandwidth: squares of residuals are noisy, and far from it there is little to
  // follow.
  for (const Freedom freedom : {Freedom::scale, Freedom::diagonal})
    head = learn_heads(x, values, frequency, std::move(head), one, {freedom, 0.0, kNoiseEvaluations})
               .projections;
  const double ratio = static_cast<double>(n) / static_cast<double>(sample.size());
  return std::pow(ratio, 1.0 / (4.0 + static_cast<double>(q))) * head.front();
}

}  // namespace

double constant_noise(const Model& model, const TargetWeights& weights) {
  const Vector root = model.frequency.cwiseSqrt();
  const Matrix z = trace_vectors(root.size());
  // In copies of rows L becomes C^(1/2) L C^(-1/2): every copy has its share of its row's weight.
  double left = model.frequency.sum();
  const Index block = queries_per_block(model);
  for (Index first = 0; first < z.rows(); first += block) {
    const auto some = z.middleRows(first, std::min(block, z.rows() - first));
    const Matrix product =
        weights.times(some * root.asDiagonal(), model.keys) * root.cwiseInverse().asDiagonal();
    left += product.squaredNorm() - 2.0 * product.cwiseProduct(some).sum();
  }
  if (!(left >= 1.0)) return mean_square(model.loo_residual, model.frequency);
  const Vector residual = model.target - member_prediction(model, model.ensemble, model.keys);
  return model.frequency.dot(residual.cwiseAbs2()) / left;
}

LocalNoise local_noise(const Model& model, MatrixView standard_x) {
  const Vector squares = model.loo_residual.cwiseAbs2();
  const double mean = mean_square(model.loo_residual, model.frequency);
  LocalNoise out{Vector::Constant(squares.size(), mean), Vector::Constant(standard_x.rows(), mean)};
  if (model.keys.cols() == 0 || !(squares.minCoeff() < squares.maxCoeff())) return out;
  const Matrix head = noise_head(model, squares);
  const SmoothedRows rows{model.keys, model.frequency};
  const SmoothOptions options{.relative_error = 0.0, .n_eff = false};
  out.rows = smooth(rows, head, model.keys, Matrix(squares), options).value.col(0);
  out.points = smooth(rows, head, standard_x, Matrix(squares), options).value.col(0);
  return out;
}

}  // namespace headspan::estimator
