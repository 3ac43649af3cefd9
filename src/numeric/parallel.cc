#include "headspan/numeric/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "headspan/numeric/error.h"

namespace headspan {

void parallel_for(Index count, const std::function<void(Index)>& body) {
  tbb::parallel_for(
      tbb::blocked_range<Index>(0, count, 1),
      [&](const tbb::blocked_range<Index>& range) {
        for (Index i = range.begin(); i != range.end(); ++i) body(i);
      },
      tbb::simple_partitioner());
}

struct ThreadLimit::Control {
  explicit Control(std::size_t n) : limit(tbb::global_control::max_allowed_parallelism, n) {}
  tbb::global_control limit;
};

ThreadLimit::ThreadLimit(int n_threads) {
  if (n_threads < 0) throw ArgumentError("n_threads must be 0 (all cores) or positive");
  if (n_threads > 0) control_ = std::make_unique<Control>(static_cast<std::size_t>(n_threads));
}
ThreadLimit::~ThreadLimit() = default;

}  // namespace headspan
