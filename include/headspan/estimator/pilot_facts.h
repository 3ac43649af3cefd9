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
  Index n_heads = 12;       ///< drawn for each head dimension; one where a head sees all inputs
  Index n_dimensions = 12;  ///< head dimensions measured; others are read off straight lines between them
  Index most_rows = 1500;   ///< of a larger table as many rows are drawn
  Index n_bootstrap = 200;  ///< resamples of the points for standard errors
  std::uint64_t seed = 0;   ///< of projections, rows and resamples
};

/// Heads of one dimension and bandwidth: leave-one-out moments of every point, noise variance 1. For one head
/// the members of two heads are those of one.
struct PilotCell {
  double bandwidth = 1.0;  ///< in standard deviations of the inputs
  Vector own;              ///< [m] mean_h r_h^2, r_h the residual of head h without the point
  Vector shared;           ///< [m] mean_{h != l} r_h r_l
  Vector variance;         ///< [m] mean_h w_h.w_h of the weights without the point
  Vector covariance;       ///< [m] mean_{h != l} w_h.w_l
  Matrix moments;          ///< [H, H] mean of r_h r_l over the points
};

struct PilotDimension {
  Index head_dim = 1;
  Index n_heads = 1;             ///< drawn
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
  ensemble::Part squared_bias;  ///< of the mean of many heads; may come out negative
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

/// One pair fitted for real.
struct MeasuredPair {
  plan::Pair pair;
  double bandwidth = 1.0;
  double loo =
      0.0;  ///< mean squared leave-one-out residual of the ensemble, mean over draws of the projections
  double standard_error = 0.0;  ///< of loo over the draws; 0 for one draw
};

/// The plan beside what the whole grid gives.
struct GridCheck {
  std::vector<MeasuredPair> pairs;  ///< every pair of the plan's curve
  std::size_t best = 0, planned = 0;
  double regret = 0.0;  ///< loo of the planned pair over that of the best, minus 1
  Index n_draws = 1;
};

}  // namespace headspan::estimator
