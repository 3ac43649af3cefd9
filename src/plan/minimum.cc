#include "plan/minimum.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <cstdint>

namespace headspan::plan {

double log_expm1(double x) { return x > 30.0 ? x + std::log1p(-std::exp(-x)) : std::log(std::expm1(x)); }

double minimum_of(const std::function<double(double)>& function, double from, double to, int n_grid) {
  const auto place = [&](int i) { return i == n_grid ? to : from + (to - from) * i / n_grid; };
  int best = 0;
  double least = function(from);
  for (int i = 1; i <= n_grid; ++i) {
    const double value = function(place(i));
    if (!(value < least)) continue;
    least = value;
    best = i;
  }
  if (!(to > from)) return from;
  constexpr int kBits = 30;  // beyond half the digits a minimum's value no longer changes
  std::uintmax_t n_iterations = 60;
  const auto [at, value] = boost::math::tools::brent_find_minima(
      function, place(std::max(best - 1, 0)), place(std::min(best + 1, n_grid)), kBits, n_iterations);
  return value < least ? at : place(best);
}

}  // namespace headspan::plan
