// The most fused multiply-adds a second that this machine gives just now: the ceiling that bench/compare.py
// sets times against.
//   bench_fma THREADS MILLISECONDS
// Twelve independent chains on the widest vectors, in registers. Prints {"float": GFLOP/s, "double": ...}.

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headspan::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#define HEADSPAN_TWELVE(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) M(10) M(11)

/// Operations of `rounds` rounds; x -> x / 2 + 1/2 goes to 1, so that nothing overflows or underflows. The
/// chains start apart: a compiler that sees them alike keeps one of the twelve.
template <class T>
double work(long rounds, double* checksum) {
  const hn::ScalableTag<T> d;
  const auto half = hn::Set(d, T(0.5));
#define HEADSPAN_START(I) auto x##I = hn::Set(d, T(I + 2));
  HEADSPAN_TWELVE(HEADSPAN_START)
  for (long i = 0; i < rounds; ++i) {
#define HEADSPAN_STEP(I) x##I = hn::MulAdd(x##I, half, half);
    HEADSPAN_TWELVE(HEADSPAN_STEP)
  }
  auto sum = hn::Zero(d);
#define HEADSPAN_SUM(I) sum = hn::Add(sum, x##I);
  HEADSPAN_TWELVE(HEADSPAN_SUM)
  *checksum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  return static_cast<double>(rounds) * 12 * 2 * static_cast<double>(hn::Lanes(d));
}

double work_float(long rounds, double* checksum) { return work<float>(rounds, checksum); }
double work_double(long rounds, double* checksum) { return work<double>(rounds, checksum); }

}  // namespace HWY_NAMESPACE
}  // namespace headspan::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headspan::bench {
namespace {

HWY_EXPORT(work_float);
HWY_EXPORT(work_double);

double best_float(long rounds, double* checksum) {
  return HWY_DYNAMIC_DISPATCH(work_float)(rounds, checksum);
}
double best_double(long rounds, double* checksum) {
  return HWY_DYNAMIC_DISPATCH(work_double)(rounds, checksum);
}

using Work = double (*)(long, double*);

double of_one_thread(Work work, double seconds, double* checksum) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double operations = 0.0, taken = 0.0;
  while (taken < seconds) {
    operations += work(20'000, checksum);
    taken = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return operations / taken * 1e-9;
}

double of_threads(Work work, int n_threads, double seconds) {
  std::vector<double> rates(static_cast<std::size_t>(n_threads)), checksums(rates.size(), 0.0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < rates.size(); ++t)
    threads.emplace_back([&, t] { rates[t] = of_one_thread(work, seconds, &checksums[t]); });
  double sum = 0.0;
  for (std::size_t t = 0; t < rates.size(); ++t) {
    threads[t].join();
    sum += checksums[t] > 0.0 ? rates[t] : 0.0;
  }
  return sum;
}

int run(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_fma THREADS MILLISECONDS\n");
    return 2;
  }
  const int n_threads = std::stoi(argv[1]);
  const double seconds = std::stod(argv[2]) * 1e-3;
  const double in_float = of_threads(best_float, n_threads, seconds);
  fmt::print("{{\"float\": {:.1f}, \"double\": {:.1f}}}\n", in_float,
             of_threads(best_double, n_threads, seconds));
  return 0;
}

}  // namespace
}  // namespace headspan::bench

int main(int argc, char** argv) { return headspan::bench::run(argc, argv); }
#endif
