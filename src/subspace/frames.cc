#include "headspan/subspace/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/optimize.h"
#include "headspan/numeric/random.h"
#include "headspan/subspace/basis.h"

namespace headspan::subspace {
namespace {

void check(const char* where, Index n_heads, Index head_dim, Index d) {
  if (n_heads < 1 || head_dim < 1 || head_dim > d)
    throw ArgumentError(
        fmt::format("{}: {} heads of dimension {} in {}: at least one head, and dimensions "
                    "from 1 to that of the space, are wanted",
                    where, n_heads, head_dim, d));
}

/// k H (H-1) / 2, by which a sum over pairs becomes a mean overlap.
double pair_total(Index n_heads, Index head_dim) {
  const double h = static_cast<double>(n_heads);
  return static_cast<double>(head_dim) * h * (h - 1.0) / 2.0;
}

/// sum_{h<l} |U_h U_l^T|_F^2 from the Gram matrix of the stacked frames. Blocks off the diagonal alone are
/// summed, so that orthogonal heads give 0 and not a difference of large numbers.
double overlap_sum(const Matrix& gram, Index n_heads, Index head_dim) {
  double sum = 0.0;
  for (Index h = 0; h + 1 < n_heads; ++h) {
    const Index next = (h + 1) * head_dim;
    sum += gram.block(h * head_dim, next, head_dim, gram.cols() - next).squaredNorm();
  }
  return sum;
}

Matrix gram_of(const Matrix& frames) {
  Matrix gram(frames.rows(), frames.rows());
  multiply_transposed(frames, frames, gram);
  return gram;
}

/// The factors of every head, stacked: L [k, k] and Q [k, d].
struct StackedLq {
  Matrix l, q;
};

StackedLq factors(MatrixView weights, Index n_heads, Index head_dim) {
  StackedLq stacked{Matrix(weights.rows(), head_dim), Matrix(weights.rows(), weights.cols())};
  for (Index h = 0; h < n_heads; ++h) {
    const auto head = weights.middleRows(h * head_dim, head_dim);
    if (!head.allFinite())
      throw ArgumentError(
          fmt::format("diversity_penalty: head {} has values that are not finite; every weight must be", h));
    // In units of the largest weight, so that no square overflows; any unit divides zeros.
    const double largest = head.cwiseAbs().maxCoeff(), unit = largest > 0.0 ? largest : 1.0;
    const ThinLq lq = thin_lq(head / unit);
    const double tolerance = rank_tolerance(lq.l.norm(), head_dim, weights.cols(), 0x1p-53);
    if (!(singular_values(lq.l).minCoeff() > tolerance))
      throw ArgumentError(fmt::format(
          "diversity_penalty: the rows of head {} are linearly dependent, where the penalty has no "
          "gradient; start from frames of full rank",
          h));
    stacked.l.middleRows(h * head_dim, head_dim) = unit * lq.l;
    stacked.q.middleRows(h * head_dim, head_dim) = lq.q;
  }
  return stacked;
}

Matrix stacked_frames(MatrixView weights, Index n_heads) {
  const Index head_dim = weights.rows() / n_heads;
  Matrix frames(weights.rows(), weights.cols());
  for (Index h = 0; h < n_heads; ++h)
    frames.middleRows(h * head_dim, head_dim) = thin_lq(weights.middleRows(h * head_dim, head_dim)).q;
  return frames;
}

Minimum least_penalty(const Matrix& start, Index n_heads, int max_evaluations) {
  const Index rows = start.rows(), d = start.cols();
  // The sum of all overlaps, not their mean: NLopt stops at a gradient of 1e-8 whatever its scale, where the
  // mean over many heads is not yet at its least.
  const double total = pair_total(n_heads, rows / n_heads);
  const auto objective = [&](const Vector& x, Vector* gradient) {
    const DiversityPenalty penalty = diversity_penalty(Eigen::Map<const Matrix>(x.data(), rows, d), n_heads);
    if (gradient) *gradient = total * Eigen::Map<const Vector>(penalty.gradient.data(), x.size());
    return total * penalty.value;
  };
  MinimizeOptions options;
  options.max_evaluations = max_evaluations;
  // Every basis of a head gives the same penalty, so steps in x say nothing; only the value decides.
  options.x_tolerance = 0.0;
  options.value_tolerance = 1e-14;
  const Vector unlimited = Vector::Constant(start.size(), std::numeric_limits<double>::infinity());
  return minimize(objective, Eigen::Map<const Vector>(start.data(), start.size()), -unlimited, unlimited,
                  options);
}

FrameStatus reached(const DiverseFrames& found, Index n_heads, Index head_dim, double tolerance) {
  if (found.gap <= tolerance) return FrameStatus::tight;
  return tight_frame_exists(n_heads, head_dim, found.frames.cols()) ? FrameStatus::not_converged
                                                                    : FrameStatus::no_tight_frame;
}

}  // namespace

Matrix random_frames(Index n_heads, Index head_dim, Index d, std::uint64_t seed) {
  check("random_frames", n_heads, head_dim, d);
  Matrix frames(n_heads * head_dim, d);
  for (Index h = 0; h < n_heads; ++h) {
    const ThinLq lq = thin_lq(RandomStream(seed, static_cast<std::uint64_t>(h)).normal_matrix(head_dim, d));
    // The factor with a positive diagonal is unique, and its Q as likely as any other [mezzadri2007].
    const Vector signs = lq.l.diagonal().unaryExpr([](double own) { return own < 0.0 ? -1.0 : 1.0; });
    frames.middleRows(h * head_dim, head_dim) = signs.asDiagonal() * lq.q;
  }
  return frames;
}

Matrix equal_angle_frames(Index n_heads, Index head_dim, double cosine) {
  check("equal_angle_frames", n_heads, head_dim, head_dim);
  if (!(cosine >= 0.0 && cosine <= 1.0))
    throw ArgumentError(fmt::format("equal_angle_frames: the cosine must lie in [0, 1], not {}", cosine));
  Matrix frames = Matrix::Zero(n_heads * head_dim, head_dim * (n_heads + 1));
  for (Index h = 0; h < n_heads; ++h)
    for (Index j = 0; j < head_dim; ++j) {
      frames(h * head_dim + j, j) = std::sqrt(cosine);
      frames(h * head_dim + j, (h + 1) * head_dim + j) = std::sqrt(1.0 - cosine);
    }
  return frames;
}

bool tight_frame_exists(Index n_heads, Index head_dim, Index d) {
  check("tight_frame_exists", n_heads, head_dim, d);
  if (d % head_dim == 0) return n_heads * head_dim >= d;
  if (2 * head_dim > d) return tight_frame_exists(n_heads, d - head_dim, d);
  const Index least = d / head_dim + 2;  // ceil(d / head_dim) + 1
  if (n_heads != least) return n_heads > least;
  const Index complement = n_heads * head_dim - d;
  return tight_frame_exists(n_heads, complement - head_dim, complement);
}

double least_mean_overlap(Index n_heads, Index head_dim, Index d) {
  check("least_mean_overlap", n_heads, head_dim, d);
  if (n_heads == 1) return 0.0;
  const double share = static_cast<double>(n_heads * head_dim) / static_cast<double>(d);
  return std::max(0.0, (share - 1.0) / static_cast<double>(n_heads - 1));
}

const char* to_string(FrameStatus status) {
  switch (status) {
    case FrameStatus::orthogonal:
      return "orthogonal";
    case FrameStatus::tight:
      return "tight";
    case FrameStatus::no_tight_frame:
      return "no tight frame";
    case FrameStatus::not_converged:
      break;
  }
  return "not converged";
}

DiverseFrames diverse_frames(Index n_heads, Index head_dim, Index d, const FrameOptions& options) {
  check("diverse_frames", n_heads, head_dim, d);
  if (!(options.tolerance > 0.0) || options.max_evaluations < 1)
    throw ArgumentError(fmt::format("diverse_frames: tolerance {} and max_evaluations {} must be positive",
                                    options.tolerance, options.max_evaluations));
  DiverseFrames found;
  if (n_heads * head_dim <= d) {
    found.frames = random_frames(1, n_heads * head_dim, d, options.seed);
    return found;
  }
  const Minimum minimum =
      least_penalty(random_frames(n_heads, head_dim, d, options.seed), n_heads, options.max_evaluations);
  found.frames = stacked_frames(Eigen::Map<const Matrix>(minimum.at.data(), n_heads * head_dim, d), n_heads);
  found.mean_overlap = overlap_sum(gram_of(found.frames), n_heads, head_dim) / pair_total(n_heads, head_dim);
  found.bound = least_mean_overlap(n_heads, head_dim, d);
  found.gap = found.mean_overlap - found.bound;
  found.n_evaluations = minimum.n_evaluations;
  found.status = reached(found, n_heads, head_dim, options.tolerance);
  return found;
}

DiversityPenalty diversity_penalty(MatrixView weights, Index n_heads) {
  if (n_heads < 1 || weights.rows() == 0 || weights.rows() % n_heads != 0)
    throw ArgumentError(fmt::format("diversity_penalty: {} rows are not {} heads of equal dimension",
                                    weights.rows(), n_heads));
  const Index head_dim = weights.rows() / n_heads, d = weights.cols();
  check("diversity_penalty", n_heads, head_dim, d);
  const StackedLq lq = factors(weights, n_heads, head_dim);
  DiversityPenalty penalty{0.0, Matrix::Zero(weights.rows(), d)};
  if (n_heads == 1) return penalty;
  const Matrix gram = gram_of(lq.q);
  const double total = pair_total(n_heads, head_dim);
  penalty.value = overlap_sum(gram, n_heads, head_dim) / total;
  Matrix pulled(weights.rows(), d);  // Q_h S, head by head
  multiply(gram, lq.q, pulled);
  for (Index h = 0; h < n_heads; ++h) {
    const auto q = lq.q.middleRows(h * head_dim, head_dim);
    Matrix off = pulled.middleRows(h * head_dim, head_dim);
    Matrix along(head_dim, head_dim), inside(head_dim, d);
    multiply_transposed(off, q, along);
    multiply(along, q, inside);
    off -= inside;
    penalty.gradient.middleRows(h * head_dim, head_dim) =
        (2.0 / total) *
        lq.l.middleRows(h * head_dim, head_dim).transpose().triangularView<Eigen::Upper>().solve(off);
  }
  return penalty;
}

}  // namespace headspan::subspace
