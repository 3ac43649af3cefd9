#include "headspan/numeric/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <utility>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

constexpr std::chrono::milliseconds kBetweenChecks{50};
thread_local InterruptionCheck* innermost_check = nullptr;

}  // namespace

// oneTBB's own synchronisation is compiled without instrumentation, so a thread sanitizer does not see that
// bodies follow the call and that the caller follows the bodies. The counters say so, and order nothing among
// the bodies.
void parallel_for(Index count, const std::function<void(Index)>& body) {
  static std::atomic<unsigned> calls{0};
  static std::atomic<unsigned> finished{0};
  calls.fetch_add(1, std::memory_order_release);
  tbb::parallel_for(
      tbb::blocked_range<Index>(0, count, 1),
      [&](const tbb::blocked_range<Index>& range) {
        static_cast<void>(calls.load(std::memory_order_acquire));
        for (Index i = range.begin(); i != range.end(); ++i) {
          InterruptionCheck::poll();
          body(i);
        }
        finished.fetch_add(1, std::memory_order_release);
      },
      tbb::simple_partitioner());
  static_cast<void>(finished.load(std::memory_order_acquire));
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

InterruptionCheck::InterruptionCheck(std::function<bool()> interrupted)
    : interrupted_(std::move(interrupted)),
      due_(std::chrono::steady_clock::now() + kBetweenChecks),
      outer_(innermost_check) {
  innermost_check = this;
}

InterruptionCheck::~InterruptionCheck() { innermost_check = outer_; }

void InterruptionCheck::poll() {
  InterruptionCheck* check = innermost_check;
  if (check == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < check->due_) return;
  check->due_ = now + kBetweenChecks;
  if (check->interrupted_()) throw Interrupted("interrupted");
}

}  // namespace headspan
