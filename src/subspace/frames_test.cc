#include "headspan/subspace/frames.h"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>
#include <numbers>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"
#include "headspan/subspace/principal_angles.h"

namespace headspan::subspace {
namespace {

/// Mean overlap by its definition, from projectors.
double mean_overlap_of(const Matrix& frames, Index n_heads) {
  const Index k = frames.rows() / n_heads;
  double sum = 0.0;
  for (Index h = 0; h < n_heads; ++h)
    for (Index l = 0; l < h; ++l) {
      const Matrix u = frames.middleRows(h * k, k), v = frames.middleRows(l * k, k);
      sum += (u.transpose() * u * v.transpose() * v).trace();
    }
  return sum / (0.5 * static_cast<double>(n_heads * (n_heads - 1) * k));
}

double orthonormality_error(const Matrix& frames, Index n_heads) {
  const Index k = frames.rows() / n_heads;
  double worst = 0.0;
  for (Index h = 0; h < n_heads; ++h) {
    const Matrix u = frames.middleRows(h * k, k);
    worst = std::max(worst, (u * u.transpose() - Matrix::Identity(k, k)).cwiseAbs().maxCoeff());
  }
  return worst;
}

struct Shape {
  Index n_heads, head_dim, d;
};

TEST(DiverseFrames, AreOrthogonalWhileThereIsRoom) {
  for (const Shape s : {Shape{4, 3, 12}, {4, 3, 20}, {1, 5, 5}, {7, 1, 7}}) {
    const DiverseFrames found = diverse_frames(s.n_heads, s.head_dim, s.d);
    const Matrix gram = found.frames * found.frames.transpose();
    EXPECT_LT((gram - Matrix::Identity(gram.rows(), gram.cols())).cwiseAbs().maxCoeff(), 1e-14);
    EXPECT_EQ(found.status, FrameStatus::orthogonal);
    EXPECT_EQ(found.bound, 0.0);
  }
}

TEST(DiverseFrames, ReachTheBoundWhereATightFrameExists) {
  for (const Shape s : {Shape{3, 1, 2},
                        {7, 1, 3},
                        {3, 2, 3},
                        {5, 2, 4},
                        {4, 2, 5},
                        {6, 4, 9},
                        {12, 8, 64},
                        {5, 4, 10},
                        {10, 3, 26},
                        {24, 16, 96},
                        {12, 32, 256}}) {
    const DiverseFrames found = diverse_frames(s.n_heads, s.head_dim, s.d);
    EXPECT_EQ(found.status, FrameStatus::tight) << s.n_heads << ' ' << s.head_dim << ' ' << s.d;
    EXPECT_LT(orthonormality_error(found.frames, s.n_heads), 1e-13);
    const double h = static_cast<double>(s.n_heads), k = static_cast<double>(s.head_dim);
    const double bound = (h * k / static_cast<double>(s.d) - 1.0) / (h - 1.0);
    EXPECT_NEAR(found.bound, bound, 1e-15);
    EXPECT_NEAR(mean_overlap_of(found.frames, s.n_heads), bound, 1e-9);
    // Tight: the projectors sum to a multiple of the identity.
    const Matrix sum = found.frames.transpose() * found.frames;
    EXPECT_LT((sum - h * k / static_cast<double>(s.d) * Matrix::Identity(s.d, s.d)).cwiseAbs().maxCoeff(),
              1e-3);
  }
}

TEST(DiverseFrames, SayWhenNoTightFrameExists) {
  // Two planes in space share a line at least: overlap (1 + 0) / 2, above the bound of 1/3.
  const DiverseFrames planes = diverse_frames(2, 2, 3);
  EXPECT_EQ(planes.status, FrameStatus::no_tight_frame);
  EXPECT_NEAR(planes.mean_overlap, 0.5, 1e-9);
  EXPECT_NEAR(planes.gap, 0.5 - 1.0 / 3.0, 1e-9);
}

TEST(DiverseFrames, SayWhenTheSearchWasTooShort) {
  FrameOptions options;
  options.max_evaluations = 2;
  EXPECT_EQ(diverse_frames(6, 4, 9, options).status, FrameStatus::not_converged);
}

TEST(DiverseFrames, KeepTheSeed) {
  EXPECT_EQ(diverse_frames(5, 2, 4).frames, diverse_frames(5, 2, 4).frames);
  FrameOptions other;
  other.seed = 1;
  EXPECT_NE(diverse_frames(5, 2, 4).frames, diverse_frames(5, 2, 4, other).frames);
}

TEST(TightFrames, ExistAsTheSearchFindsThem) {
  // Every small shape: the recursion beside what minimising from three starts reaches.
  for (Index d = 2; d <= 6; ++d)
    for (Index k = 1; k < d; ++k)
      for (Index h = d / k + 1; h <= d / k + 3; ++h) {
        double best = 1.0;
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
          FrameOptions options;
          options.seed = seed;
          best = std::min(best, diverse_frames(h, k, d, options).gap);
        }
        EXPECT_EQ(best < 1e-9, tight_frame_exists(h, k, d)) << h << ' ' << k << ' ' << d << " gap " << best;
      }
}

TEST(RandomFrames, AreOrthonormalAndOverlapAsChanceHasIt) {
  const Index k = 3, d = 8, n = 400;
  const Matrix frames = random_frames(n, k, d, 5);
  EXPECT_LT(orthonormality_error(frames, n), 1e-14);
  // |U_1 U_2^T|_F^2 of pairs: mean k^2/d, variance 2 k^2 (d-k)^2 / (d^2 (d-1)(d+2)).
  const double mean = 9.0 / 8.0, variance = 2.0 * 9.0 * 25.0 / (64.0 * 7.0 * 10.0);
  const double pairs = static_cast<double>(n * (n - 1) / 2);
  EXPECT_NEAR(mean_overlap_of(frames, n) * static_cast<double>(k), mean, 5.0 * std::sqrt(variance / pairs));
}

TEST(RandomFrames, AreAsLikelyAsTheirMirrorImages) {
  const Index n = 2000;
  const Matrix frames = random_frames(n, 2, 2, 3);
  const double five_sigma = 5.0 * std::sqrt(0.5 / static_cast<double>(n));
  Matrix mean = Matrix::Zero(2, 2);
  double determinants = 0.0;
  for (Index h = 0; h < n; ++h) {
    const Matrix one = frames.middleRows(2 * h, 2);
    mean += one / static_cast<double>(n);
    determinants += (one(0, 0) * one(1, 1) - one(0, 1) * one(1, 0)) / static_cast<double>(n);
  }
  EXPECT_LT(mean.cwiseAbs().maxCoeff(), five_sigma);
  EXPECT_NEAR(determinants, 0.0, std::sqrt(2.0) * five_sigma);
}

TEST(EqualAngleFrames, HaveEveryAngleEqual) {
  for (const double degrees : {0.0, 30.0, 60.0, 90.0}) {
    const double angle = degrees * std::numbers::pi / 180.0;
    const Matrix frames = equal_angle_frames(4, 3, std::max(0.0, std::cos(angle)));
    EXPECT_LT(orthonormality_error(frames, 4), 1e-15);
    for (Index h = 1; h < 4; ++h) {
      const Vector angles = principal_angles(frames.topRows(3), frames.middleRows(3 * h, 3));
      for (Index j = 0; j < 3; ++j) EXPECT_NEAR(angles[j], angle, 1e-7);
    }
  }
}

TEST(DiversityPenalty, IsTheMeanOverlapWhateverTheBasis) {
  const Matrix raw = RandomStream(3, 0).normal_matrix(12, 7);
  Matrix changed = raw, frames = raw;
  for (Index h = 0; h < 4; ++h) {
    changed.middleRows(3 * h, 3) =
        RandomStream(4, static_cast<std::uint64_t>(h)).normal_matrix(3, 3) * raw.middleRows(3 * h, 3);
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(raw.middleRows(3 * h, 3).transpose());
    frames.middleRows(3 * h, 3) = (qr.householderQ() * Eigen::MatrixXd::Identity(7, 3)).transpose();
  }
  const double expected = mean_overlap_of(frames, 4);
  EXPECT_NEAR(diversity_penalty(raw, 4).value, expected, 1e-14);
  EXPECT_NEAR(diversity_penalty(changed, 4).value, expected, 1e-12);
}

TEST(DiversityPenalty, GradientIsThatOfFiniteDifferences) {
  for (const Shape s : {Shape{2, 1, 3}, {4, 3, 7}, {5, 4, 6}, {3, 2, 16}}) {
    const Matrix raw = RandomStream(8, 1).normal_matrix(s.n_heads * s.head_dim, s.d);
    const Matrix gradient = diversity_penalty(raw, s.n_heads).gradient;
    const double step = 1e-5;
    for (Index i = 0; i < raw.size(); ++i) {
      Matrix up = raw, down = raw;
      up.data()[i] += step;
      down.data()[i] -= step;
      const double slope =
          (diversity_penalty(up, s.n_heads).value - diversity_penalty(down, s.n_heads).value) / (2 * step);
      EXPECT_NEAR(gradient.data()[i], slope, 1e-8 * (1.0 + gradient.cwiseAbs().maxCoeff()));
    }
  }
}

TEST(DiversityPenalty, OrthogonalHeadsAreFlatAndEqualHeadsAreOne) {
  const DiversityPenalty orthogonal = diversity_penalty(equal_angle_frames(3, 2, 0.0), 3);
  EXPECT_EQ(orthogonal.value, 0.0);
  EXPECT_EQ(orthogonal.gradient.cwiseAbs().maxCoeff(), 0.0);
  EXPECT_NEAR(diversity_penalty(equal_angle_frames(3, 2, 1.0), 3).value, 1.0, 1e-15);
  EXPECT_EQ(diversity_penalty(Matrix::Ones(1, 4), 1).value, 0.0);
}

TEST(Frames, RefuseWhatHasNoMeaning) {
  EXPECT_THROW(diverse_frames(2, 5, 4), ArgumentError);
  EXPECT_THROW(diverse_frames(0, 1, 4), ArgumentError);
  EXPECT_THROW(diverse_frames(2, 2, 3, {0, -1.0, 10}), ArgumentError);
  EXPECT_THROW(equal_angle_frames(2, 2, 1.1), ArgumentError);
  EXPECT_THROW(tight_frame_exists(2, 0, 3), ArgumentError);
  EXPECT_THROW(diversity_penalty(Matrix::Ones(3, 4), 2), ArgumentError);
  EXPECT_THROW(diversity_penalty(Matrix::Ones(4, 4), 2), ArgumentError);  // every head of rank one
  EXPECT_EQ(least_mean_overlap(1, 2, 3), 0.0);
}

TEST(DiversityPenalty, TheUnitsOfWeightsDoNotMatter) {
  RandomStream random(5, 0);
  const Matrix weights = random.normal_matrix(6, 7);
  const DiversityPenalty plain = diversity_penalty(weights, 3);
  for (const double unit : {1e-200, 1e200}) {
    const DiversityPenalty scaled = diversity_penalty(unit * weights, 3);
    EXPECT_NEAR(scaled.value, plain.value, 1e-14);
    EXPECT_LT((unit * scaled.gradient - plain.gradient).cwiseAbs().maxCoeff(), 1e-13);
  }
  Matrix broken = weights;
  broken(3, 2) = HUGE_VAL;
  try {
    diversity_penalty(broken, 3);
    FAIL();
  } catch (const ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("head 1 has values that are not finite"), std::string::npos);
  }
}

}  // namespace
}  // namespace headspan::subspace
