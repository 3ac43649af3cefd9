#include "headspan/numeric/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

TEST(ParallelFor, RunsEachIndexOnce) {
  std::vector<std::atomic<int>> seen(1000);
  parallel_for(1000, [&](Index i) { ++seen[static_cast<std::size_t>(i)]; });
  for (const auto& count : seen) EXPECT_EQ(count.load(), 1);
}

TEST(ParallelFor, RethrowsAndTakesNothing) {
  EXPECT_THROW(parallel_for(10,
                            [](Index i) {
                              if (i == 5) throw std::runtime_error("five");
                            }),
               std::runtime_error);
  int calls = 0;
  parallel_for(0, [&](Index) { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST(InterruptionCheck, StopsBetweenTwoBodiesOnceAsked) {
  const auto sleep = [](Index) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  int asked = 0;
  std::atomic<int> ran{0};
  {
    const InterruptionCheck check([&] { return ++asked == 2; });
    EXPECT_THROW(parallel_for(5000,
                              [&](Index i) {
                                sleep(i);
                                ++ran;
                              }),
                 Interrupted);
  }
  EXPECT_EQ(asked, 2);
  EXPECT_GT(ran.load(), 50);
  EXPECT_LT(ran.load(), 4000);
  EXPECT_NO_THROW(parallel_for(200, sleep));
  EXPECT_EQ(asked, 2);
}

TEST(ThreadLimit, RefusesNegativeCounts) { EXPECT_THROW(ThreadLimit(-1), ArgumentError); }

}  // namespace
}  // namespace headspan
