#pragma once
// What an experiment is asked to do. Every default is stated here and nowhere else.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "headspan/numeric/matrix.h"
#include "headspan/nw/kernel.h"

namespace headspan::experiments {

/// Called after every row with how many are done, from the calling thread.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// Heads of which every two have all principal angles equal, over pure noise.
struct AngleOptions {
  std::vector<double> degrees = {0, 15, 30, 45, 60, 75, 90};  ///< the dial
  Index n_heads = 4, head_dim = 2;
  Index n = 1000;                                            ///< keys
  nw::KernelFunction kernel = nw::KernelFunction::gaussian;  ///< or softmax, of q.k / bandwidth^2
  double bandwidth = 1.0;  ///< softmax: about 2, for below 2^(1/4) a few keys carry all the weight
  double noise_variance = 1.0;
  Index n_points = 100;  ///< fixed queries, drawn once
  Index n_replicates = 400;
  std::uint64_t seed = 0;
};

/// Redundant latents: head h sees x_hj = (z_j + t eta_hj) / sqrt(1 + t^2), j = 1..k, and y = sum_j a_j z_j +
/// e, a_j^2 = A0 (1 - e^-g) e^(-g(j-1)).
struct LatentOptions {
  std::vector<Index> head_dims = {1, 2, 3, 4,
                                  5, 6, 8, 10};  ///< the dial; H = budget / head_dim, rounded down
  Index budget = 64;                             ///< D
  double scale = 1.0;                            ///< A0
  double rate = 0.5;                             ///< g
  double private_noise = 1.0;                    ///< t; the cosines between heads are 1 / (1 + t^2)
  Index n = 1000;                                ///< keys
  double bandwidth = 1.0;
  double noise_variance = 1.0;
  Index n_points = 50;  ///< queries, fresh in every replicate
  Index n_replicates = 40;
  std::uint64_t seed = 0;
};

/// An additive target sum_h sin(frequency x_h), head h seeing coordinate h alone.
struct AdditiveOptions {
  Index n_heads = 4;
  double frequency = 2.0;
  Index n = 2000;  ///< keys
  double bandwidth = 0.1;
  double noise_variance = 0.09;
  Index n_points = 100;  ///< fixed queries, drawn once
  Index n_replicates = 100;
  std::uint64_t seed = 0;
};

/// Regression forests on y = 10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5 + e, inputs uniform on
/// [0, 1] [friedman1991].
struct ForestOptions {
  std::vector<Index> mtry = {1, 2, 5, 10, 17, 30, 50};  ///< inputs tried at a split; the dial is 1 - mtry/p
  Index n_inputs = 50;                                  ///< p
  Index n_trees = 20;
  Index n = 200;          ///< rows of a training set
  Index least_leaf = 5;   ///< rows, repeats counted
  bool bootstrap = true;  ///< a tree grows on n rows drawn with repetition; else on all of them
  double noise_variance = 1.0;
  Index n_points = 50;  ///< fixed points, drawn once
  Index n_replicates = 100;
  std::uint64_t seed = 0;
};

/// Where a scout goes when it does not explore.
enum class ColonyRule {
  pheromone,  ///< a site in proportion to its pheromone
  thompson,   ///< the greatest of one draw from each of its own normal posteriors
};

/// "pheromone" or "thompson".
const char* to_string(ColonyRule rule);

/// A colony looking for the best of several sites.
struct ColonyOptions {
  std::vector<double> exploration = {0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0};  ///< the dial
  ColonyRule rule = ColonyRule::pheromone;
  Index n_scouts = 20, n_sites = 20, n_steps = 20;
  double noise_sd = 0.5;     ///< of one observation of a site's quality; qualities are 1/K, 2/K, ..., 1
  double evaporation = 0.1;  ///< share of pheromone and trail lost in a step
  double sharing = 1.0;  ///< what a follower learns from the trail, in observations of its own; 0: nothing
  double quorum = 0.0;   ///< share of the scouts at one site that ends the search; 0: never
  Index n_replicates = 400;
  std::uint64_t seed = 0;
};

}  // namespace headspan::experiments
