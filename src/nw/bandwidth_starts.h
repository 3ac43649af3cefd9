#pragma once
// Places of the search for bandwidths, and those it starts from.

#include <cmath>
#include <vector>

#include "nw/bandwidth_objective.h"
#include "nw/constants.h"

namespace headspan::nw {

struct Candidate {
  Vector theta;  ///< log bandwidths in units of spread; +inf: left out
  double value = kInfinity;
};

/// Criterion values closer than this are equal: relative, and absolute in units of the variance of y.
inline double slack(double value) { return 1e-9 * std::abs(value) + 1e-15; }
inline bool no_worse(double value, double than) { return value <= than + slack(than); }
inline bool better(double value, double than) {
  return than == kInfinity ? value < than : value < than - slack(than);
}

Vector with(const Vector& theta, Index k, double value);

/// From lower to upper in steps of about sqrt 2, ten at least.
Vector bandwidth_grid(double lower, double upper);

/// Coordinate k at a bandwidth of t units of spread, or for a category at lambda t / (1 + t) of its largest.
double coordinate(const BandwidthObjective& objective, Index k, double t);

/// The best common multiple of the columns' spreads; the best, far from one another, of a lattice over the
/// bracket with columns left out among its levels; and n_starts - 1 random ones. More starts contain those of
/// fewer.
std::vector<Candidate> bandwidth_starts(BandwidthObjective& objective, const SelectionOptions& options);

}  // namespace headspan::nw
