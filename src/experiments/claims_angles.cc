// Principal angles and what chance gives.

#include <fmt/format.h>

#include <cmath>

#include "experiments/claim_groups.h"
#include "experiments/replicates.h"
#include "headspan/subspace/basis.h"
#include "headspan/subspace/overlap.h"
#include "headspan/subspace/principal_angles.h"

namespace headspan::experiments {
namespace {

Matrix frame_of(const Matrix& head) { return subspace::orthonormal_basis(head, kUnitRoundoff).frame; }

// Columns: overlap O = |U_1 U_2^T|_F^2 of independent random subspaces, and its square.
Matrix random_overlaps(const Trial& trial, Index k, Index l, Index d) {
  constexpr Index kReplicates = 10000;
  return replicate(trial, trial.hundredfold(kReplicates), 2, [&](RandomStream& random, auto row) {
    const Matrix one = frame_of(random.normal_matrix(k, d)), two = frame_of(random.normal_matrix(l, d));
    row[0] = (one * two.transpose()).squaredNorm();
    row[1] = row[0] * row[0];
  });
}

Claim overlap_mean() {
  const auto measure = [](const Trial& trial) {
    return std::vector<Measurement>{
        measured_mean(random_overlaps(trial, 4, 3, 12), 0, "k = 4, l = 3, d = 12", numbers(4, 3, 12))};
  };
  return {"overlap-mean",
          "random subspaces of dimensions k and l in R^d overlap by k l / d on average",
          ClaimKind::simulation,
          "k l / (d + 1)",
          [](const Vector& at) { return at[0] * at[1] / at[2]; },
          [](const Vector& at) { return at[0] * at[1] / (at[2] + 1.0); },
          measure};
}

Claim overlap_variance() {
  const auto measure = [](const Trial& trial) {
    const auto variance = [](const Vector& means) { return means[1] - means[0] * means[0]; };
    return std::vector<Measurement>{measured_function(random_overlaps(trial, 4, 3, 12), variance,
                                                      "k = 4, l = 3, d = 12", numbers(4, 3, 12))};
  };
  return {"overlap-variance",
          "the variance of that overlap is 2 k l (d-k)(d-l) / (d^2 (d-1)(d+2))",
          ClaimKind::simulation,
          "2 k l / d^2, as if cosines were independent normals",
          [](const Vector& at) {
            return subspace::overlap_law(static_cast<Index>(at[0]), static_cast<Index>(at[1]),
                                         static_cast<Index>(at[2]))
                .variance;
          },
          [](const Vector& at) { return 2.0 * at[0] * at[1] / (at[2] * at[2]); },
          measure};
}

Claim overlap_tail() {
  constexpr Index kDimension = 16;
  const auto measure = [](const Trial& trial) {
    constexpr Index kReplicates = 200, kDraws = 500;
    const subspace::MomentLaw law = subspace::overlap_law(1, 1, kDimension);
    const double value = law.mean + 3.0 * std::sqrt(law.variance);
    const Matrix shares =
        replicate(trial, trial.hundredfold(kReplicates), 1, [&](RandomStream& random, auto row) {
          const Matrix lines = random.normal_matrix(kDraws, kDimension);  // against the first axis
          const auto overlap = lines.col(0).array().square() / lines.rowwise().squaredNorm().array();
          row[0] = (overlap > value).cast<double>().mean();
        });
    return std::vector<Measurement>{measured_mean(shares, 0, "two lines in R^16 at z = 3", numbers(value))};
  };
  return {"overlap-tail",
          "the upper tail of the overlap of two lines is that of the beta law on the possible range",
          ClaimKind::simulation,
          "the tail of a normal law of the same mean and variance",
          [](const Vector& at) {
            return 0.5 * *subspace::compare_beta(at[0], subspace::overlap_law(1, 1, kDimension)).p;
          },
          [](const Vector& at) {
            const subspace::MomentLaw law = subspace::overlap_law(1, 1, kDimension);
            return 0.5 * *subspace::compare_normal(at[0] - law.mean, std::sqrt(law.variance)).p;
          },
          measure};
}

Claim small_angles() {
  const auto measure = [](const Trial& trial) {
    std::vector<Measurement> out;
    RandomStream random = trial.stream(0);
    for (const double angle : {1e-6, 1e-9, 1e-12}) {
      // Orthonormal rows e, f, g of a random frame: span(e, f) against span(cos e + sin g, f).
      const Matrix rows = frame_of(random.normal_matrix(3, 8));
      Matrix turned = rows.topRows(2);
      turned.row(0) = std::cos(angle) * rows.row(0) + std::sin(angle) * rows.row(2);
      out.push_back({fmt::format("{:g} radians", angle), numbers(angle),
                     subspace::principal_angles(rows.topRows(2), turned)[0], 1e-15, true});
    }
    return out;
  };
  return {"small-angles",
          "principal angles keep an absolute accuracy of rounding, however small they are",
          ClaimKind::closed_form,
          "the angle taken from its cosine, which rounds to one",
          [](const Vector& at) { return at[0]; },
          [](const Vector& at) { return std::acos(std::cos(at[0])); },
          measure};
}

// Two directions and an input covariance S: cosine of their angle after S^(1/2), and the moments of the two
// scores.
std::vector<Measurement> cosines_in_covariance(const Trial& trial) {
  RandomStream random = trial.stream(0);
  const Matrix root = random.normal_matrix(5, 5), heads = random.normal_matrix(2, 5);
  const Matrix covariance = root * root.transpose();
  const Matrix one = frame_of(heads.row(0) * root), two = frame_of(heads.row(1) * root);
  const Matrix moments = heads * covariance * heads.transpose();
  const Matrix plain = heads * heads.transpose();
  const double correlation = std::abs(moments(0, 1)) / std::sqrt(moments(0, 0) * moments(1, 1));
  const double cosine = std::abs(plain(0, 1)) / std::sqrt(plain(0, 0) * plain(1, 1));
  return {{"two heads of one dimension", numbers(correlation, cosine),
           std::cos(subspace::principal_angles(one, two)[0]), 1e-13, true}};
}

Claim canonical_correlation() {
  return {"canonical-correlation",
          "the cosine of the angle in the inner product of the input covariance is the correlation of what "
          "two heads read",
          ClaimKind::identity,
          "the cosine without the covariance",
          [](const Vector& at) { return at[0]; },
          [](const Vector& at) { return at[1]; },
          cosines_in_covariance};
}

}  // namespace

std::vector<Claim> angle_claims() {
  return {overlap_mean(), overlap_variance(), overlap_tail(), small_angles(), canonical_correlation()};
}

}  // namespace headspan::experiments
