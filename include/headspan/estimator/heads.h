#pragma once
// Where heads start: blocks of orthogonal directions, and how wide a neighbourhood to begin with.

#include <cstdint>
#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// H projections [k, p] with orthonormal rows, uniformly random. As long as H k <= p all of them are
/// orthogonal to one another; beyond, every p / k heads begin a new random frame. k is cut to p. Same for the
/// same seed on any machine. Throws ArgumentError for H, k or p below 1.
std::vector<Matrix> random_orthogonal_heads(Index n_heads, Index head_dim, Index p, std::uint64_t seed);

/// Head h sees principal components h k .. h k + k - 1 of the rows of `x` [n, p] weighted by `frequency` [n],
/// each divided by its standard deviation. Components of no variance belong to no head, and heads that
/// nothing is left for are not made: fewer than H may come back, none only where no column varies.
std::vector<Matrix> principal_heads(Index n_heads, Index head_dim, MatrixView x, VectorView frequency);

/// What to multiply an orthonormal projection of standardised inputs by so that its neighbourhoods have the
/// width at which bias and variance of a smooth function of k dimensions balance: 0.8 n^(1/(4+k)).
double starting_scale(double n, Index head_dim);

}  // namespace headspan::estimator
