#include <algorithm>
#include <cmath>

#include "experiments/measure.h"
#include "headspan/experiments/heads.h"
#include "headspan/numeric/gaussian_laws.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/plan/profile.h"

namespace headspan::experiments {
namespace {

void check(const LatentOptions& o) {
  require_some("head_dims", o.head_dims.size());
  for (const Index k : o.head_dims) {
    require_at_least("head_dims", k, 1);
    require_at_least("budget", o.budget, k);
  }
  require_at_least("n", o.n, 3);
  require_at_least("n_points", o.n_points, 1);
  require_at_least("n_replicates", o.n_replicates, 3);
  require_positive("scale", o.scale);
  require_positive("rate", o.rate);
  require_positive("bandwidth", o.bandwidth);
  require_positive("noise_variance", o.noise_variance);
  require_within("private_noise", o.private_noise, 0.0, 1e6);
}

/// What the design fixes.
struct Design {
  LatentOptions options;
  Index most_dims = 0, most_heads = 0;
  double shared = 0.0, own = 0.0;  // x = shared z + own eta
  Vector coefficient;              // a_j of the latents that some head of the grid sees
  double tail = 0.0;               // standard deviation of the rest of the target

  explicit Design(const LatentOptions& o) : options(o) {
    for (const Index k : o.head_dims) {
      most_dims = std::max(most_dims, k);
      most_heads = std::max(most_heads, heads_of(k));
    }
    shared = 1.0 / std::sqrt(1.0 + o.private_noise * o.private_noise);
    own = o.private_noise * shared;
    coefficient.resize(most_dims);
    for (Index j = 0; j < most_dims; ++j)
      coefficient[j] = std::sqrt(o.scale * -std::expm1(-o.rate) * std::exp(-o.rate * static_cast<double>(j)));
    tail = std::sqrt(o.scale * std::exp(-o.rate * static_cast<double>(most_dims)));
  }
  Index heads_of(Index k) const { return options.budget / k; }
  /// The widest head dimension of the grid that has a head numbered h.
  Index dims_of(Index h) const {
    Index widest = 0;
    for (const Index k : options.head_dims)
      if (h < heads_of(k)) widest = std::max(widest, k);
    return widest;
  }
};

/// Rows of one kind, keys or queries: what every head sees of them, [dims, rows] each, and the target.
struct Seen {
  std::vector<Matrix> heads;
  Vector target;
};

enum Kind : Index { kQueries = 0, kFirstKeys = 1, kSecondKeys = 2, kKinds = 3 };

/// The streams depend on replicate, kind and head alone and are read latent by latent, so that every head
/// dimension of the grid sees the same numbers.
Seen draw(const Design& design, Index n, Index replicate, Index kind) {
  const std::uint64_t seed = design.options.seed;
  RandomStream random(seed, stream_of(1, replicate, kind));
  const Matrix z = random.normal_matrix(design.most_dims, n), rest = random.normal_matrix(1, n);
  Seen seen;
  seen.target = z.transpose() * design.coefficient + design.tail * rest.row(0).transpose();
  for (Index h = 0; h < design.most_heads; ++h) {
    const Index dims = design.dims_of(h);
    RandomStream own(seed, stream_of(2, replicate, kKinds * h + kind));
    seen.heads.push_back(design.shared * z.topRows(dims) + design.own * own.normal_matrix(dims, n));
  }
  return seen;
}

/// Sums of weights over the heads at one query, for every head dimension of the grid.
struct WeightSums {
  Matrix weights;  // [grid, n] sum_h w_h,i
  Vector squares;  // [grid] sum_h |w_h|^2
};

WeightSums weights_at(const Design& design, const Seen& keys, const Seen& queries, Index query) {
  const auto& grid = design.options.head_dims;
  const Index n = keys.target.size();
  WeightSums sums{Matrix::Zero(static_cast<Index>(grid.size()), n),
                  Vector::Zero(static_cast<Index>(grid.size()))};
  const double scale = -0.5 / (design.options.bandwidth * design.options.bandwidth);
  Eigen::ArrayXd distance(n), weight(n);
  for (std::size_t h = 0; h < keys.heads.size(); ++h) {
    distance.setZero();
    for (Index j = 0; j < keys.heads[h].rows(); ++j) {
      distance += (keys.heads[h].row(j).transpose().array() - queries.heads[h](j, query)).square();
      for (std::size_t g = 0; g < grid.size(); ++g) {
        if (grid[g] != j + 1 || static_cast<Index>(h) >= design.heads_of(grid[g])) continue;
        weight = (scale * (distance - distance.minCoeff())).exp();
        weight /= weight.sum();
        sums.weights.row(static_cast<Index>(g)) += weight.matrix().transpose();
        sums.squares[static_cast<Index>(g)] += weight.square().sum();
      }
    }
  }
  return sums;
}

enum Column : Index {
  kVarianceColumn,
  kCovarianceColumn,
  kEnsembleColumn,
  kSquaredBiasColumn,
  kDesignColumn,
  kColumns
};

/// Means over the queries of one replicate, [grid, kColumns]. The product of the conditional biases of two
/// training sets has the squared bias for its mean, half their squared difference the design variance.
Matrix replicate_means(const Design& design, Index replicate) {
  const LatentOptions& o = design.options;
  const Seen queries = draw(design, o.n_points, replicate, kQueries);
  const Seen keys[2] = {draw(design, o.n, replicate, kFirstKeys), draw(design, o.n, replicate, kSecondKeys)};
  Matrix means = Matrix::Zero(static_cast<Index>(o.head_dims.size()), kColumns);
  const double share = 1.0 / static_cast<double>(o.n_points);
  for (Index p = 0; p < o.n_points; ++p) {
    Matrix bias(means.rows(), 2);
    for (Index set = 0; set < 2; ++set) {
      const WeightSums sums = weights_at(design, keys[set], queries, p);
      for (Index g = 0; g < means.rows(); ++g) {
        const double heads = static_cast<double>(design.heads_of(o.head_dims[static_cast<std::size_t>(g)]));
        const double total = sums.weights.row(g).squaredNorm();
        means(g, kVarianceColumn) += 0.5 * share * o.noise_variance * sums.squares[g] / heads;
        if (heads > 1.0)
          means(g, kCovarianceColumn) +=
              0.5 * share * o.noise_variance * (total - sums.squares[g]) / (heads * (heads - 1.0));
        means(g, kEnsembleColumn) += 0.5 * share * o.noise_variance * total / (heads * heads);
        bias(g, set) = sums.weights.row(g).dot(keys[set].target) / heads - queries.target[p];
      }
    }
    means.col(kSquaredBiasColumn) += share * bias.col(0).cwiseProduct(bias.col(1));
    means.col(kDesignColumn) += 0.5 * share * (bias.col(0) - bias.col(1)).cwiseAbs2();
  }
  return means;
}

void predict_row(const Design& design, LatentRow& row, Index k) {
  const LatentOptions& o = design.options;
  const GaussianKernelLaw kernel(o.bandwidth);
  const double heads = static_cast<double>(row.n_heads), dims = static_cast<double>(k);
  const double cosine = design.shared * design.shared;
  const double rho = kernel.correlation(dims * kernel.log_v(cosine * cosine), k, k);
  const plan::ErrorLaw law({.bias = plan::ExponentialBias{o.scale, o.rate},
                            .growth = plan::FixedGrowth{plan::log_growth(o.bandwidth)},
                            .correlation = plan::CommonCorrelation{rho},
                            .noise = o.noise_variance,
                            .n = static_cast<double>(o.n)});
  const plan::PairError planned = law.at(dims, heads);
  const double shrunk = design.shared / (1.0 + o.bandwidth * o.bandwidth);
  const double kept = 1.0 - shrunk * design.shared, own = shrunk * design.own;
  const double unseen = std::exp(-o.rate * dims);
  row.squared_bias_predicted = o.scale * ((1.0 - unseen) * (kept * kept + own * own / heads) + unseen);
  row.variance_predicted = planned.variance;
  row.mse_predicted = row.squared_bias_predicted + row.variance_predicted;
  const double leading = o.noise_variance * std::exp(dims * planned.log_growth) / static_cast<double>(o.n);
  const double error = row.law.v.standard_error.value_or(0.0) / leading;
  row.left_out = {row.law.v.value / leading - 1.0, ensemble::Origin::estimated, error};
  row.in_range = !planned.beyond_range && std::abs(row.left_out.value) <= std::max(kLeftOut, 2.0 * error);
  // A correlation with the grand mean in it: (1 + (V(1)^k - 1) rho) / V(1)^k.
  predict(row.law,
          {rho + (1.0 - rho) * std::exp(-dims * planned.log_growth), ensemble::Origin::exact, std::nullopt});
}

/// `means` [R, kColumns] of one head dimension.
LatentRow row_of(const Design& design, MatrixView means, Index k) {
  LatentRow row;
  row.n_heads = design.heads_of(k);
  row.law.dial = static_cast<double>(k);
  const double inverse = 1.0 / static_cast<double>(row.n_heads);
  row.law.inverse_members = inverse;
  row.law.v = mean_of(means.col(kVarianceColumn));
  row.law.ensemble_variance = mean_of(means.col(kEnsembleColumn));
  if (row.n_heads > 1)
    row.law.rho =
        jackknifed(means, [](const Vector& m) { return m[kCovarianceColumn] / m[kVarianceColumn]; });
  else
    row.law.rho = {1.0, ensemble::Origin::exact, std::nullopt};
  row.law.law = jackknifed(means, [&](const Vector& m) {
    return row.n_heads > 1 ? m[kCovarianceColumn] + (m[kVarianceColumn] - m[kCovarianceColumn]) * inverse
                           : m[kVarianceColumn];
  });
  row.squared_bias = mean_of(means.col(kSquaredBiasColumn));
  row.design_variance = mean_of(means.col(kDesignColumn));
  row.mse = jackknifed(
      means, [](const Vector& m) { return m[kSquaredBiasColumn] + m[kDesignColumn] + m[kEnsembleColumn]; });
  predict_row(design, row, k);
  return row;
}

}  // namespace

LatentFacts simulate_latents(const LatentOptions& options, const Progress& progress) {
  check(options);
  const Design design(options);
  const Index grid = static_cast<Index>(options.head_dims.size());
  std::vector<Matrix> means(options.head_dims.size(), Matrix(options.n_replicates, kColumns));
  // In blocks, so that progress can be told; the blocks do not change a number.
  constexpr Index kBlock = 8;
  for (Index start = 0; start < options.n_replicates; start += kBlock) {
    const Index count = std::min(kBlock, options.n_replicates - start);
    parallel_for(count, [&](Index i) {
      const Matrix one = replicate_means(design, start + i);
      for (Index g = 0; g < grid; ++g) means[static_cast<std::size_t>(g)].row(start + i) = one.row(g);
    });
    if (progress)
      progress(static_cast<std::size_t>(start + count), static_cast<std::size_t>(options.n_replicates));
  }
  LatentFacts facts;
  facts.options = options;
  for (std::size_t g = 0; g < options.head_dims.size(); ++g)
    facts.rows.push_back(row_of(design, means[g], options.head_dims[g]));
  for (std::size_t g = 1; g < facts.rows.size(); ++g) {
    if (facts.rows[g].mse.value < facts.rows[facts.best].mse.value) facts.best = g;
    if (facts.rows[g].mse_predicted < facts.rows[facts.best_predicted].mse_predicted)
      facts.best_predicted = g;
  }
  return facts;
}

}  // namespace headspan::experiments
