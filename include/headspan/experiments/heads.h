#pragma once
// Heads under a diversity dial: simulated over fresh data, beside the closed forms.

#include "headspan/experiments/facts.h"

namespace headspan::experiments {

/// Heads at equal principal angles over keys ~ N(0, I) and pure noise, so that estimates are errors.
/// rho_predicted: at query x with u = U_h x, v = U_l x and cosine c the covariance n C_hl / s2 tends to
///   gaussian  prod_j a / sqrt(a^2 - c^2) exp(-((a (u_j^2 + v_j^2) - 2 c u_j v_j) / (a^2 - c^2)
///                                                  - (u_j^2 + v_j^2) / a) / 2),  a = 1 + b^2
///   softmax   exp(c u.v / b^4)
/// whose means over x are V(c)^k of the theory, and ((1 - c^2/b^4)^2 - c^2/b^8)^(-k/2). Deterministic for a
/// seed and any number of threads. Throws ArgumentError, naming the option, on angles outside [0, 90],
/// another kernel, fewer than two heads, three replicates or two keys, and values that are not positive.
/// Cost: rows x replicates x H n m weights.
AngleFacts simulate_angles(const AngleOptions& options, const Progress& progress = {});

/// Redundant latents over a grid of head dimensions, common random numbers across the grid, exact conditional
/// variance. Predictions: squared bias A0 [(1 - e^(-g k)) ((1 - s r)^2 + s^2 (1 - r^2) / H) + e^(-g k)] with
/// r = 1 / sqrt(1 + t^2) and s = r / (1 + b^2); variance s2/n [1 + (V(1)^k - 1)(1/H + (1 - 1/H) rho)] with
/// rho of cosines r^2. Throws ArgumentError as simulate_angles, and on a head dimension above the budget.
/// Cost: replicates x 2 n m D log(max k) weights.
LatentFacts simulate_latents(const LatentOptions& options, const Progress& progress = {});

/// An additive target seen by heads of one coordinate each. The mean of the heads tends to m/H, the sum less
/// H - 1 times the mean of y to m; the variance of the sum is H times a head's, not 1/H. Throws ArgumentError
/// as simulate_angles.
AdditiveFacts simulate_additive(const AdditiveOptions& options, const Progress& progress = {});

}  // namespace headspan::experiments
