#include "ensemble/moment_groups.h"

#include <algorithm>
#include <numeric>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"

namespace headspan::ensemble {
namespace {

// Entries of all groups' matrices together, 32 MB; and what resampling needs at least and profits from at
// most.
constexpr Index kEntries = 4'000'000, kFewestGroups = 20, kMostGroups = 1000;
// Points of a group that are looked at together.
constexpr Index kPointsPerSum = 4096;

std::vector<Index> shuffled(Index n, std::uint64_t seed) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  RandomStream random(seed, 0);
  for (Index i = n - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i + 1))]);
  return order;
}

/// Adds the products of the points at `places`.
void add_points(const Replicates& all, const std::vector<Index>& places, MomentSums& sums) {
  const double count = static_cast<double>(all.predictions.size());
  const Index n_members = all.predictions.front().rows();
  // Relative to the first replicate, so that a member that never varies has a variance of 0 and not of
  // rounding.
  const Matrix first = all.predictions.front()(Eigen::all, places);
  Matrix product(n_members, n_members), mean = Matrix::Zero(n_members, static_cast<Index>(places.size()));
  for (const Matrix& f : all.predictions) mean += (f(Eigen::all, places) - first) / count;
  for (const Matrix& f : all.predictions) {
    Matrix off = f(Eigen::all, places);
    off.rowwise() -= all.truth(places).transpose();
    multiply_transposed(off, off, product);
    sums.errors += product / count;
    sums.fourth_powers += off.colwise().squaredNorm().squaredNorm() / count;
    if (all.predictions.size() == 1) continue;
    off = f(Eigen::all, places) - first - mean;
    multiply_transposed(off, off, product);
    sums.covariance += product / count;
  }
  sums.n_points += static_cast<Index>(places.size());
}

void make_symmetric(Matrix& m) { m = (0.5 * (m + m.transpose())).eval(); }

}  // namespace

void MomentSums::add(const MomentSums& other, double times) {
  errors += times * other.errors;
  covariance += times * other.covariance;
  fourth_powers += times * other.fourth_powers;
  n_points += static_cast<Index>(times) * other.n_points;
}

MomentSums MomentSums::nothing_like(const MomentSums& like) {
  return {Matrix::Zero(like.errors.rows(), like.errors.cols()),
          Matrix::Zero(like.covariance.rows(), like.covariance.cols()), 0.0, 0};
}

std::vector<MomentSums> group_moments(const Replicates& replicates, std::uint64_t seed) {
  const Index n = replicates.truth.size(), n_members = replicates.predictions.front().rows();
  const Index n_groups =
      std::min(n, std::clamp(kEntries / (n_members * n_members), kFewestGroups, kMostGroups));
  const std::vector<Index> order = shuffled(n, seed);
  const Index n_covariance = replicates.predictions.size() > 1 ? n_members : 0;
  const MomentSums nothing{Matrix::Zero(n_members, n_members), Matrix::Zero(n_covariance, n_covariance), 0.0,
                           0};
  std::vector<MomentSums> groups(static_cast<std::size_t>(n_groups), nothing);
  parallel_for(n_groups, [&](Index g) {
    MomentSums& group = groups[static_cast<std::size_t>(g)];
    const Index end = (g + 1) * n / n_groups;
    for (Index start = g * n / n_groups; start < end; start += kPointsPerSum) {
      const Index stop = std::min(start + kPointsPerSum, end);
      add_points(replicates, {order.begin() + start, order.begin() + stop}, group);
    }
    make_symmetric(group.errors);
    make_symmetric(group.covariance);
  });
  return groups;
}

std::vector<MomentSums> moments_of_replicates(const Replicates& replicates) {
  const Index n_members = replicates.predictions.front().rows();
  const MomentSums nothing{Matrix::Zero(n_members, n_members), Matrix(), 0.0, 0};
  std::vector<MomentSums> groups(replicates.predictions.size(), nothing);
  parallel_for(static_cast<Index>(groups.size()), [&](Index r) {
    MomentSums& group = groups[static_cast<std::size_t>(r)];
    Matrix errors = replicates.predictions[static_cast<std::size_t>(r)];
    errors.rowwise() -= replicates.truth.transpose();
    multiply_transposed(errors, errors, group.errors);
    make_symmetric(group.errors);
    group.fourth_powers = errors.colwise().squaredNorm().squaredNorm();
    group.n_points = errors.cols();
  });
  return groups;
}

}  // namespace headspan::ensemble
