#pragma once
// Threads. Work is cut into blocks by its size alone, so that results do not depend on the thread count.

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>

#include "headspan/numeric/matrix.h"

namespace headspan {

/// Runs body(i) for i in [0, count), in parallel, each i exactly once; the first exception is rethrown.
/// The order is unspecified: body(i) must write only what belongs to i.
void parallel_for(Index count, const std::function<void(Index)>& body);

/// Limits the threads used by parallel_for for as long as the object lives; 0 means all cores.
class ThreadLimit {
 public:
  explicit ThreadLimit(int n_threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  struct Control;
  std::unique_ptr<Control> control_;
};

/// Thrown out of parallel_for where an InterruptionCheck said to stop.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// For as long as the object lives, parallel_for on the thread that made it asks `interrupted` between two
/// bodies, at most every 50 ms, and throws Interrupted once the answer is yes. Asked on that thread alone, so
/// that an interpreter may look at its signals. The innermost check counts.
class InterruptionCheck {
 public:
  explicit InterruptionCheck(std::function<bool()> interrupted);
  ~InterruptionCheck();
  InterruptionCheck(const InterruptionCheck&) = delete;
  InterruptionCheck& operator=(const InterruptionCheck&) = delete;
  /// Throws Interrupted if a check is due on this thread and says so.
  static void poll();

 private:
  std::function<bool()> interrupted_;
  std::chrono::steady_clock::time_point due_;
  InterruptionCheck* outer_;
};

}  // namespace headspan
