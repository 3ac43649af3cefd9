#pragma once
// Threads. Work is cut into blocks by its size alone, so that results do not depend on the thread count.

#include <functional>
#include <memory>

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

}  // namespace headspan
