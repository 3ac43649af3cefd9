#pragma once
// What a pilot measured of a table, and the plan that follows from it.

#include <cstdint>
#include <optional>
#include <vector>

#include "headspan/ensemble/decomposition.h"
#include "headspan/plan/allocate.h"
#include "headspan/plan/scaling.h"

namespace headspan::estimator {

struct PilotOptions {
  Index n_heads = 48;     ///< drawn for each head dimension; one where a head sees all inputs
  Index n_weighted = 12;  ///< of them, whose weights are multiplied with one another: the square of it costs
  Index n_dimensions = 12;  ///< head dimensions measured; others are read off straight lines between them
  Index most_rows = 1500;   ///< of a larger table as many rows are drawn
  Index n_bootstrap = 200;  ///< resamples of the points for standard errors
  std::uint64_t seed = 0;   ///< of projections, rows and resamples
};

/// Mean products of heads at every point [m]. Blocks of one basis are orthogonal, those of different bases
/// are not, so the two kinds of pairs are kept apart; where there are none of a kind, it is the other, and
/// for one head both are `own`.
struct HeadProducts {
  Vector own;     ///< of a head with itself
  Vector within;  ///< of two heads of one basis
  Vector across;  ///< of two heads of different bases
};

/// Heads of one dimension and bandwidth, every point left out in turn.
struct PilotCell {
  double bandwidth = 1.0;  ///< in standard deviations of the inputs
  HeadProducts residual;   ///< of the residuals r_h r_l
  HeadProducts weight;     ///< of the weights w_h.w_l: covariances for a noise variance of 1
  Matrix moments;          ///< [H, H] mean of r_h r_l over the points
};

struct PilotDimension {
  Index head_dim = 1;
  Index n_heads = 1;             ///< drawn
  Index per_basis = 1;           ///< of them in one basis
  std::vector<PilotCell> cells;  ///< bandwidths ascending
};

/// The measurements of a pilot.
struct Pilot {
  Index n = 0;                         ///< rows of the table
  Index n_used = 0;                    ///< rows measured, m
  Index d = 0;                         ///< inputs that vary
  std::vector<Index> constant_inputs;  ///< columns left out
  double y_variance = 0.0;
  ensemble::Part residual_noise, neighbour_noise;
  double noise = 0.0;  ///< the smaller of the two: both err upwards
  std::vector<PilotDimension> dimensions;
};

/// What the pilot says of one head dimension at the bandwidth chosen for it, with standard errors by
/// bootstrap over points.
struct PilotEstimate {
  Index head_dim = 1;
  double bandwidth = 1.0;
  ensemble::Part squared_bias;  ///< common to two heads of the pair; may come out negative
  ensemble::Part own_bias;      ///< of one head
  ensemble::Part variance;      ///< of one head
  ensemble::Part rho;           ///< centred correlation of two heads
};

/// A plan from a pilot.
struct PilotPlan {
  double n = 0.0;  ///< training points it is for
  plan::LawOptions law;
  std::vector<PilotEstimate> estimates;  ///< per measured head dimension
  ensemble::Part log_growth;       ///< per dimension, at the best pair's bandwidth; a least-squares slope
  double theory_log_growth = 0.0;  ///< of a Gaussian design at that bandwidth
  plan::Allocation allocation;     ///< near-ties: within one standard error of the difference from the best
  plan::Scaling scaling;
  std::vector<double> bandwidth;  ///< per pair of the curve
  /// Standard error of mse - mse of the best, per pair of the curve: of the points by bootstrap, of the
  /// projections drawn by leaving heads out.
  std::vector<double> difference_error;
  std::vector<double> chosen_share;  ///< share of the resamples in which the pair was best
};

struct GridOptions {
  Index n_draws = 24;      ///< of the projections of a pair, at most
  std::uint64_t seed = 1;  ///< of the projections; another than the pilot's, which chose the plan
};

/// One pair fitted for real.
struct MeasuredPair {
  plan::Pair pair;
  double bandwidth = 1.0;  ///< geometric mean over the draws
  double loo = 0.0;  ///< mean squared leave-one-out residual of the ensemble, mean over draws of projections
  /// Of loo over the draws. 0 where one head sees all inputs, so that any draw says the same; nothing where
  /// another pair was drawn once.
  std::optional<double> standard_error;
  Index n_draws = 0;
};

/// The plan beside what the whole grid gives.
struct GridCheck {
  std::vector<MeasuredPair> pairs;  ///< every pair of the plan's curve
  std::size_t best = 0, planned = 0;
  /// loo of the planned pair over that of the best, minus 1. The best is the least of several that were
  /// measured, so this errs upwards.
  double regret = 0.0;
  std::optional<double> regret_error;  ///< its standard error over the draws; 0 where the planned is the best
  bool within_noise = true;            ///< the regret is within two standard errors of 0
  GridOptions options;
};

}  // namespace headspan::estimator
