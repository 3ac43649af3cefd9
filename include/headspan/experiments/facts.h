#pragma once
// What an experiment measured, beside what the law says of it.

#include <optional>
#include <vector>

#include "headspan/ensemble/decomposition.h"
#include "headspan/experiments/options.h"

namespace headspan::experiments {

using ensemble::Part;

/// The law Var F = rho v + (1 - rho) v / M at one setting of a diversity dial. Measured values carry the
/// standard error of their replicates.
struct LawRow {
  double dial = 0.0;
  Part v;                  ///< variance of an agent's error, mean over agents and points
  Part rho;                ///< mean off-diagonal by mean diagonal of the error covariance
  Part ensemble_variance;  ///< of the mean of the agents, measured as such
  Part law;                ///< rho v + (1 - rho) v / M from the measured v and rho
  /// 1/M; where not every agent has an estimate everywhere, its mean weighted by the agents' variance.
  double inverse_members = 1.0;
  double rho_predicted = 0.0;  ///< from the dial
  double law_predicted = 0.0;  ///< from rho_predicted and the measured v
  /// Monte Carlo errors of the two where rho_predicted is a fit to other replicates; none of a closed form.
  /// That of law_predicted is v (1 - 1/M) times the other, the measured v taken as it is.
  std::optional<double> rho_predicted_error, law_predicted_error;
};

/// What rho does between the smallest and the greatest dial value.
struct Trend {
  Part change;        ///< rho at the greatest less rho at the smallest; the rows are independent
  int direction = 0;  ///< -1 falls, 1 rises, 0: within three standard errors of no change
};

struct AngleRow {
  LawRow law;  ///< the dial is the angle in degrees; rho_predicted is the closed form at these very points
  Part centred_rho;  ///< the same without the variance of the grand mean, which all heads share
  double centred_rho_predicted = 0.0;
  /// Closed forms averaged over queries ~ N(0, I); NaN for a softmax without a limit, bandwidth^4 <= 2.
  double rho_limit = 0.0, centred_rho_limit = 0.0;
};

struct AngleFacts {
  AngleOptions options;
  std::vector<AngleRow> rows;
  Trend trend;
};

/// What a prediction of leading order may leave out and still be said to hold.
inline constexpr double kLeftOut = 0.02;

/// One head dimension of the redundant latents. Variances are of the noise, exact given the inputs, and mean
/// over queries and replicates.
struct LatentRow {
  LawRow law;  ///< the dial is the head dimension
  Index n_heads = 1;
  Part mse;              ///< squared_bias + design_variance + ensemble_variance
  Part squared_bias;     ///< (E F - m)^2, from two training sets a replicate, so unbiased
  Part design_variance;  ///< what the keys' positions add to the error beside the noise; O(1/n)
  double squared_bias_predicted = 0.0, variance_predicted = 0.0;
  double mse_predicted = 0.0;  ///< squared_bias_predicted + variance_predicted
  /// Measured v over its leading order s2 V(1)^k / n, less 1: the share that every prediction leaves out, all
  /// of them of leading order in 1/n.
  Part left_out;
  /// V(1)^k <= sqrt(n), as the plan asks, and left_out within kLeftOut or two of its standard errors.
  bool in_range = true;
};

struct LatentFacts {
  LatentOptions options;
  std::vector<LatentRow> rows;
  std::size_t best = 0;            ///< row of least measured mse
  std::size_t best_predicted = 0;  ///< row of least predicted mse
};

/// One way to combine heads of an additive target.
struct CombinerRow {
  Part mse, squared_bias, variance;
  double squared_bias_predicted = 0.0;  ///< closed form at these points, n -> infinity
};

struct AdditiveFacts {
  AdditiveOptions options;
  CombinerRow mean;    ///< F = (1/H) sum_h f_h
  CombinerRow sum;     ///< F = sum_h f_h - (H - 1) ybar
  Part head_variance;  ///< mean over the heads
};

struct ForestRow {
  LawRow law;  ///< the dial is 1 - mtry/p; rho_predicted is a fit to other replicates
  Index mtry = 1;
  Part mse;  ///< of the forest at the fixed points
};

struct ForestFacts {
  ForestOptions options;
  std::vector<ForestRow> rows;
  Trend trend;
};

struct ColonyRow {
  LawRow law;  ///< the dial is the exploration probability; errors at sites that the scout has visited
  /// Correlation over the sites of two scouts' estimates with unvisited sites as zero: what a study sees that
  /// compares estimates instead of errors.
  Part estimate_correlation;
  double visited = 0.0;  ///< share of scouts and sites
  Part accuracy;         ///< share of searches whose most agreed site is the best one
  double n_steps = 0.0;  ///< mean, shorter than asked for where a quorum ends searches
};

struct ColonyFacts {
  ColonyOptions options;
  std::vector<ColonyRow> rows;
  Trend trend;           ///< of rho
  Trend estimate_trend;  ///< of estimate_correlation
};

}  // namespace headspan::experiments
