#include "audit/baselines.h"

#include <fmt/format.h>

namespace headspan::audit {
namespace {

template <class Map, class Compute>
const typename Map::mapped_type& remember(Map& map, const typename Map::key_type& key,
                                          const Compute& compute) {
  const auto found = map.find(key);
  return found != map.end() ? found->second : map.emplace(key, compute()).first->second;
}

}  // namespace

const subspace::PairMoments& Baselines::energy(Index k, Index d) {
  return remember(energy_, {k, d}, [&] { return subspace::random_energy(k, d, sampling_); });
}

const subspace::MapVariances& Baselines::map(Index k, Index d_left, Index d_right) {
  return remember(map_, {k, d_left, d_right},
                  [&] { return subspace::random_map(k, d_left, d_right, sampling_); });
}

const subspace::PairMoments& Baselines::kernel(Index k, Index d, double bandwidth) {
  return remember(kernel_, {k, d, bandwidth},
                  [&] { return subspace::random_kernel(k, d, GaussianKernelLaw(bandwidth), sampling_); });
}

std::string Baselines::method() const {
  return fmt::format("{} sampled pairs, seed {}", sampling_.n_samples, sampling_.seed);
}

}  // namespace headspan::audit
