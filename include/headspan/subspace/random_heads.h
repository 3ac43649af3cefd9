#pragma once
// What independent random heads give: sampled moments behind the baselines that have no closed form.

#include <cstdint>

#include "headspan/numeric/gaussian_laws.h"
#include "headspan/numeric/matrix.h"

namespace headspan::subspace {

/// How to sample. Sample i uses stream i of the seed, so results do not depend on threads.
struct Sampling {
  std::uint64_t seed = 0;
  Index n_samples = 512;
};

/// Moments of a correlation between two heads of a random layer, and of two pairs with one head in common.
struct PairMoments {
  double mean = 0.0;
  double variance = 0.0;
  double shared_covariance = 0.0;  ///< Cov(R_hl, R_hm), l != m
};

/// Energy correlation of heads with independent normal entries [k, d]. W W^T of a head is Wishart, so each
/// sample costs O(k^3) whatever d is (Bartlett's decomposition). Given a head's spectrum the others'
/// directions are uniform, hence Cov(R_hl, R_hm) = Var(f) E[f]^2 / d^2 and mean E[f]^2 / d exactly, f = tr M
/// / |M|_F.
PairMoments random_energy(Index k, Index d, const Sampling& sampling);

/// Variances of the correlation <A_h, A_l> of composed maps A = L^T R, L [k, d_left], R [k, d_right] with
/// independent normal entries. Its mean is 0, and pairs are uncorrelated (flip the sign of one L).
struct MapVariances {
  double separate = 0.0;  ///< both factors of their own
  double shared = 0.0;    ///< R in common
};
MapVariances random_map(Index k, Index d_left, Index d_right, const Sampling& sampling);

/// Kernel correlation of uniformly random (Haar) subspaces of dimension k in R^d at the law's bandwidth.
/// Pairs are independent given their common head, since the law depends on angles only.
PairMoments random_kernel(Index k, Index d, const GaussianKernelLaw& law, const Sampling& sampling);

}  // namespace headspan::subspace
