#pragma once
// Sampled moments of random layers, kept per shape: the layers of a model share theirs.

#include <map>
#include <string>
#include <tuple>

#include "headspan/subspace/random_heads.h"

namespace headspan::audit {

class Baselines {
 public:
  explicit Baselines(subspace::Sampling sampling) : sampling_(sampling) {}

  const subspace::PairMoments& energy(Index k, Index d);
  const subspace::MapVariances& map(Index k, Index d_left, Index d_right);
  const subspace::PairMoments& kernel(Index k, Index d, double bandwidth);
  /// "512 sampled pairs, seed 0".
  std::string method() const;

 private:
  subspace::Sampling sampling_;
  std::map<std::pair<Index, Index>, subspace::PairMoments> energy_;
  std::map<std::tuple<Index, Index, Index>, subspace::MapVariances> map_;
  std::map<std::tuple<Index, Index, double>, subspace::PairMoments> kernel_;
};

}  // namespace headspan::audit
