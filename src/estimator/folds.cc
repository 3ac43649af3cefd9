#include "estimator/folds.h"

#include <algorithm>

#include "estimator/prepare.h"
#include "headspan/numeric/random.h"

namespace headspan::estimator {
namespace {

constexpr std::uint64_t kFoldSeed = 0x666f6c64;  // "fold": folds do not follow the streams of the heads

}  // namespace

std::vector<Index> folds(Index n, Index n_folds, std::uint64_t seed) {
  std::vector<Index> order = all_rows(n), out(order.size());
  RandomStream random(seed ^ kFoldSeed, 0);
  for (Index i = n - 1; i > 0; --i) {
    const Index j = static_cast<Index>(random.uniform() * static_cast<double>(i + 1));
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  const Index count = std::min(n_folds, n);
  for (Index i = 0; i < n; ++i) out[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i % count;
  return out;
}

FoldRows rows_of_fold(const std::vector<Index>& fold_of_row, Index fold) {
  FoldRows out;
  for (Index i = 0; i < std::ssize(fold_of_row); ++i)
    (fold_of_row[static_cast<std::size_t>(i)] == fold ? out.held_out : out.seen).push_back(i);
  return out;
}

}  // namespace headspan::estimator
