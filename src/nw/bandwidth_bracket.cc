#include "nw/bandwidth_bracket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headspan/numeric/error.h"

namespace headspan::nw {
namespace {

constexpr double kWidest = 100.0, kNarrowest = 0.1, kNarrowestOfTies = 0.6;
// Places with so many rows each are means of their own, and no accident of rounding; at this bandwidth a
// gaussian gives the next place 4e-6.
constexpr double kRowsOfAPlace = 10.0, kNarrowestOfPlaces = 0.2;

double median_gap(Vector column) {
  std::sort(column.begin(), column.end());
  std::vector<double> gaps;
  for (Index i = 1; i < column.size(); ++i)
    if (column[i] > column[i - 1]) gaps.push_back(column[i] - column[i - 1]);
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

struct Copies {
  double share;  ///< of rows that have an exact copy
  Index places;  ///< distinct rows
};

Copies copies_of(MatrixView x) {
  std::vector<Index> order(static_cast<std::size_t>(x.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto less = [&](Index a, Index b) {
    return std::lexicographical_compare(x.row(a).begin(), x.row(a).end(), x.row(b).begin(), x.row(b).end());
  };
  std::sort(order.begin(), order.end(), less);
  const auto same = [&](std::size_t a) { return x.row(order[a]) == x.row(order[a + 1]); };
  Index copies = 0, places = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool as_before = i > 0 && same(i - 1);
    copies += as_before || (i + 1 < order.size() && same(i)) ? 1 : 0;
    places += as_before ? 0 : 1;
  }
  return {static_cast<double>(copies) / static_cast<double>(x.rows()), places};
}

/// Of a bracket's lower end, in median gaps.
double narrowest_of(MatrixView x) {
  const Copies copies = copies_of(x);
  if (static_cast<double>(x.rows()) >= kRowsOfAPlace * static_cast<double>(copies.places))
    return kNarrowestOfPlaces;
  return copies.share >= 0.25 ? kNarrowestOfTies : kNarrowest;
}

double standard_deviation(VectorView column) {
  return std::sqrt((column.array() - column.mean()).square().mean());
}

}  // namespace

double canonical_scale(KernelFunction function) {
  switch (function) {
    case KernelFunction::gaussian:
    case KernelFunction::softmax:
      return 1.0;
    case KernelFunction::laplace:
      return std::sqrt(0.5);
    case KernelFunction::epanechnikov:
      return std::sqrt(5.0);
    case KernelFunction::biweight:
      return std::sqrt(7.0);
    case KernelFunction::triweight:
      return 3.0;
    case KernelFunction::tricube:
      return std::sqrt(243.0 / 35.0);
    case KernelFunction::uniform:
      return std::sqrt(3.0);
  }
  throw ArgumentError("kernel function: not one of the enumeration");
}

std::vector<Bracket> brackets(MatrixView x, KernelFunction function) {
  const double scale = canonical_scale(function);
  for (Index k = 0; k < x.cols(); ++k)
    if (x.col(k).maxCoeff() == x.col(k).minCoeff())
      throw ArgumentError(fmt::format(
          "x: column {} is constant ({}), so no bandwidth of it can be judged; leave the column out", k,
          x(0, k)));
  const double narrowest = narrowest_of(x);
  std::vector<Bracket> all;
  for (Index k = 0; k < x.cols(); ++k) {
    // The scores of softmax grow with the values, not with their differences.
    const double range = function == KernelFunction::softmax ? x.col(k).cwiseAbs().maxCoeff()
                                                             : x.col(k).maxCoeff() - x.col(k).minCoeff();
    all.push_back({.unit = standard_deviation(x.col(k)),
                   .lower = narrowest * scale * median_gap(x.col(k)),
                   .upper = kWidest * scale * range});
  }
  return all;
}

}  // namespace headspan::nw
