#pragma once
// Making heads diverse: frames that overlap as little as their dimensions allow, and the penalty that pushes
// raw weights apart. Frames are stacked: head h is rows [h*head_dim, (h+1)*head_dim) of [n_heads*head_dim,
// d].

#include <cstdint>

#include "headspan/numeric/matrix.h"

namespace headspan::subspace {

/// Independent orthonormal frames, uniformly random (Haar) as frames and so as subspaces: the row spaces of
/// normal matrices, each with the basis that a triangular factor of positive diagonal leaves [mezzadri2007],
/// head h from stream h of the seed. [n_heads*head_dim, d]. Throws ArgumentError unless 1 <=
/// n_heads and 1 <= head_dim <= d. Cost O(n_heads head_dim^2 d).
Matrix random_frames(Index n_heads, Index head_dim, Index d, std::uint64_t seed);

/// Heads of which every two have all principal angles equal to arccos(cosine): U_h = sqrt(c) E_0 + sqrt(1-c)
/// E_h with E_0 ... E_H blocks of the identity, so that U_h U_l^T = c I exactly up to rounding.
/// [n_heads*head_dim, head_dim*(n_heads+1)]. Throws ArgumentError unless cosine lies in [0, 1].
Matrix equal_angle_frames(Index n_heads, Index head_dim, double cosine);

/// Whether n_heads subspaces of dimension head_dim in R^d exist whose projectors sum to a multiple of the
/// identity (a tight fusion frame), by the recursion of [casazza2011]: where head_dim divides d, if n_heads
/// head_dim >= d; where 2 head_dim > d, as for the orthogonal complements of dimension d - head_dim; else no
/// below ceil(d/head_dim) + 1 subspaces, yes above that number, and at it as for n_heads subspaces of
/// dimension M - head_dim in R^M, M = n_heads head_dim - d (the Naimark complement, then the orthogonal one).
/// Throws ArgumentError as random_frames does. Cost O(head_dim).
bool tight_frame_exists(Index n_heads, Index head_dim, Index d);

/// Least mean overlap that n_heads subspaces of dimension head_dim in R^d can have, max(0, (H k/d - 1)/(H -
/// 1)); 0 for one head. Attained where a tight fusion frame exists, or H k <= d [kutyniok2009].
double least_mean_overlap(Index n_heads, Index head_dim, Index d);

enum class FrameStatus {
  orthogonal,      ///< H k <= d: no overlap at all
  tight,           ///< the bound is reached within the tolerance
  no_tight_frame,  ///< none exists, so the mean overlap stays above the bound: a local minimum
  not_converged,   ///< one exists, but the search ended before it; another seed or more evaluations may help
};

/// Words as printed: "orthogonal", "tight", "no tight frame", "not converged".
const char* to_string(FrameStatus status);

struct FrameOptions {
  std::uint64_t seed = 0;      ///< of the random start
  double tolerance = 1e-9;     ///< of the mean overlap above its bound
  int max_evaluations = 2000;  ///< of the penalty
};

struct DiverseFrames {
  Matrix frames;              ///< [n_heads*head_dim, d], orthonormal rows within each head
  double mean_overlap = 0.0;  ///< mean_{h<l} |U_h U_l^T|_F^2 / k
  double bound = 0.0;         ///< least_mean_overlap
  double gap = 0.0;           ///< mean_overlap - bound
  FrameStatus status = FrameStatus::orthogonal;
  Index n_evaluations = 0;
};

/// Frames of least mean overlap. H k <= d: orthogonal blocks of one random orthonormal basis, exact. Above:
/// the diversity penalty minimised by a limited-memory quasi-Newton search over raw weights, from random
/// frames; the penalty does not see a basis change within a head, so this is a descent on a product of
/// Grassmannians. Deterministic for a seed. Throws ArgumentError as random_frames does, on a tolerance that
/// is not positive and on fewer than one evaluation. Cost: evaluations x O((H k)^2 d); some 20 to 200 of them
/// where a tight frame is not the only one.
DiverseFrames diverse_frames(Index n_heads, Index head_dim, Index d, const FrameOptions& options = {});

/// P = mean_{h<l} |U_h U_l^T|_F^2 / k of the row spaces of raw weights W_h [k, d], one minus the subspace HDI
/// of equal ranks, with its gradient. With W_h = L_h Q_h (Q orthonormal rows) and S the sum of all projectors
///   dP/dW_h = 4 / (k H (H-1)) L_h^-T Q_h S (I - Q_h^T Q_h),
/// which is orthogonal to every change of basis within a head. 0 for one head. Throws ArgumentError on shapes
/// that disagree, head_dim > d, and a head whose rows are linearly dependent to rounding, where the gradient
/// does not exist. Cost O((H k)^2 d). Accuracy: some 2^-53 cond(W_h).
struct DiversityPenalty {
  double value = 0.0;
  Matrix gradient;  ///< [n_heads*head_dim, d]
};
DiversityPenalty diversity_penalty(MatrixView weights, Index n_heads);

}  // namespace headspan::subspace
