#include "nw/bandwidth_starts.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "headspan/numeric/random.h"

namespace headspan::nw {
namespace {

constexpr double kStep = 0.35;  // of the grid in log h: a factor of about sqrt 2

// Levels of the lattice, in units of spread.
constexpr std::array kLevels{0.06, 0.15, 0.35, 0.8, 2.0, kInfinity};
constexpr Index kFewestNodes = 40, kMostNodes = 216, kMostScreened = 6;
constexpr double kPairs = 2e8;  // of rows, over all nodes

using Node = std::vector<std::size_t>;  // a level per coordinate

/// One bandwidth, in units of spread, for all columns: the best of a grid.
Candidate best_common(BandwidthObjective& objective) {
  Candidate best;
  Vector theta = objective.lower();
  for (const double t : bandwidth_grid(std::log(0.05), std::log(4.0))) {
    for (Index k = 0; k < theta.size(); ++k) theta[k] = coordinate(objective, k, std::exp(t));
    const double value = objective.value(theta);
    if (value < best.value) best = {theta, value};
  }
  return best;
}

/// All nodes of the lattice where there are few, a random choice where not.
std::vector<Node> lattice(std::size_t d, Index n_rows, std::uint64_t seed) {
  const double pairs = static_cast<double>(n_rows) * static_cast<double>(n_rows);
  const auto most = std::clamp(static_cast<Index>(kPairs / pairs), kFewestNodes, kMostNodes);
  const double all = std::pow(static_cast<double>(kLevels.size()), static_cast<double>(d));
  RandomStream random(seed, 2);
  std::vector<Node> nodes;
  for (Index i = 0; i < std::min(most, static_cast<Index>(std::min(all, 1e9))); ++i) {
    Node node(d);
    auto rest = static_cast<std::size_t>(i);
    for (std::size_t& level : node) {
      level = all <= static_cast<double>(most)
                  ? rest % kLevels.size()
                  : static_cast<std::size_t>(random.uniform() * static_cast<double>(kLevels.size()));
      rest /= kLevels.size();
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

bool adjacent(const Node& a, const Node& b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::max(a[k], b[k]) - std::min(a[k], b[k]) > 1) return false;
  return true;
}

/// The best nodes of which no two are adjacent.
std::vector<Candidate> screened(BandwidthObjective& objective, std::uint64_t seed) {
  const std::vector<Node> nodes =
      lattice(static_cast<std::size_t>(objective.lower().size()), objective.n_rows(), seed);
  std::vector<Candidate> at;
  std::vector<std::size_t> order;
  for (const Node& node : nodes) {
    Vector theta = objective.lower();
    for (Index k = 0; k < theta.size(); ++k)
      theta[k] = coordinate(objective, k, kLevels[node[static_cast<std::size_t>(k)]]);
    at.push_back({theta, objective.value(theta)});
    order.push_back(order.size());
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return at[a].value < at[b].value; });
  std::vector<std::size_t> kept;
  for (const std::size_t i : order)
    if (std::ssize(kept) < kMostScreened &&
        std::none_of(kept.begin(), kept.end(), [&](std::size_t j) { return adjacent(nodes[i], nodes[j]); }))
      kept.push_back(i);
  std::vector<Candidate> best;
  for (const std::size_t i : kept) best.push_back(at[i]);
  return best;
}

}  // namespace

Vector with(const Vector& theta, Index k, double value) {
  Vector changed = theta;
  changed[k] = value;
  return changed;
}

Vector bandwidth_grid(double lower, double upper) {
  const Index cells = std::max<Index>(10, static_cast<Index>(std::ceil((upper - lower) / kStep)));
  return Vector::LinSpaced(cells + 1, lower, upper);
}

/// Coordinate k at a bandwidth of t units of spread, or for a category at lambda t / (1 + t) of its largest.
double coordinate(const BandwidthObjective& objective, Index k, double t) {
  if (!std::isfinite(t)) return t;
  if (k >= objective.n_bandwidths()) return std::log(t / (1.0 + t));
  return std::clamp(std::log(t), objective.lower()[k], objective.upper()[k]);
}

std::vector<Candidate> bandwidth_starts(BandwidthObjective& objective, const SelectionOptions& options) {
  std::vector<Candidate> all = screened(objective, options.seed);
  all.push_back(best_common(objective));
  RandomStream random(options.seed, 0);
  for (int i = 1; i < options.n_starts; ++i) {
    Vector theta = objective.lower();
    for (Index k = 0; k < theta.size(); ++k)
      theta[k] = coordinate(objective, k, 0.1 * std::pow(30.0, random.uniform()));
    all.push_back({theta, objective.value(theta)});
  }
  return all;
}

}  // namespace headspan::nw
