// Times leave-one-out scores and bandwidth selection, for bench/selection.py.
//   bench_selection scores XY.npy H_1 ... H_D THREADS: one evaluation, median of 21
//   bench_selection select XY.npy STARTS THREADS: the whole selection
// XY.npy: [n, d + 1], the last column y. Prints one JSON object.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "headspan/numeric/parallel.h"
#include "headspan/nw/bandwidth.h"
#include "headspan/table/npy.h"

namespace {

using headspan::Index;
using headspan::Matrix;
using headspan::Vector;

template <class Body>
double seconds(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int time_scores(const Matrix& table, const std::vector<std::string>& bandwidths, int threads) {
  const headspan::ThreadLimit limit(threads);
  const Index d = table.cols() - 1;
  const Matrix x = table.leftCols(d);
  Vector h(d);
  for (Index k = 0; k < d; ++k) h[k] = std::stod(bandwidths.at(static_cast<std::size_t>(k)));
  std::vector<double> times;
  headspan::nw::SmootherScores scores;
  for (int repeat = 0; repeat < 21; ++repeat)
    times.push_back(seconds([&] { scores = headspan::nw::smoother_scores(x, table.col(d), {}, h); }));
  std::sort(times.begin(), times.end());
  fmt::print("{{\"seconds\": {}, \"loo\": {:.17g}}}\n", times[times.size() / 2], *scores.loo);
  return 0;
}

int time_selection(const Matrix& table, int n_starts, int threads) {
  const headspan::ThreadLimit limit(threads);
  const Index d = table.cols() - 1;
  headspan::nw::BandwidthSelection found;
  const double time = seconds([&] {
    found =
        headspan::nw::select_bandwidth(table.leftCols(d), table.col(d), {.kernel = {}, .n_starts = n_starts});
  });
  std::vector<std::string> bandwidth;
  for (const double h : found.bandwidth) bandwidth.push_back(fmt::format("\"{:.8g}\"", h));
  fmt::print(
      "{{\"seconds\": {}, \"value\": {:.17g}, \"n_evaluations\": {}, \"irrelevant\": {}, \"bandwidth\": "
      "[{}]}}\n",
      time, found.value, found.n_evaluations,
      std::count(found.irrelevant.begin(), found.irrelevant.end(), true), fmt::join(bandwidth, ", "));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 4 && arguments[0] == "select")
    return time_selection(headspan::table::read_npy(arguments[1]), std::stoi(arguments[2]),
                          std::stoi(arguments[3]));
  if (arguments.size() > 3 && arguments[0] == "scores")
    return time_scores(headspan::table::read_npy(arguments[1]), {arguments.begin() + 2, arguments.end() - 1},
                       std::stoi(arguments.back()));
  fmt::print(stderr,
             "usage: bench_selection scores XY.npy H_1 ... H_D THREADS | select XY.npy STARTS THREADS\n");
  return 2;
}
