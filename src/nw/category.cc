#include "headspan/nw/category.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/error.h"
#include "nw/category_factor.h"

namespace headspan::nw {

const char* to_string(CategoryKernel kernel) {
  switch (kernel) {
    case CategoryKernel::aitchison_aitken:
      return "aitchison_aitken";
    case CategoryKernel::li_racine:
      return "li_racine";
    case CategoryKernel::wang_van_ryzin:
      return "wang_van_ryzin";
    case CategoryKernel::li_racine_ordered:
      return "li_racine_ordered";
  }
  throw ArgumentError("category kernel: not one of the enumeration");
}

std::optional<CategoryKernel> category_kernel_named(std::string_view name) {
  for (const CategoryKernel kernel : {CategoryKernel::aitchison_aitken, CategoryKernel::li_racine,
                                      CategoryKernel::wang_van_ryzin, CategoryKernel::li_racine_ordered})
    if (name == to_string(kernel)) return kernel;
  return std::nullopt;
}

bool is_ordered(CategoryKernel kernel) {
  return kernel == CategoryKernel::wang_van_ryzin || kernel == CategoryKernel::li_racine_ordered;
}

double largest_lambda(CategoryKernel kernel, Index n_levels) {
  if (kernel != CategoryKernel::aitchison_aitken) return 1.0;
  return static_cast<double>(n_levels - 1) / static_cast<double>(n_levels);
}

namespace {

void check_lambda(CategoryKernel kernel, Index n_levels, double lambda) {
  const double largest = largest_lambda(kernel, n_levels);
  if (!(lambda >= 0.0 && lambda <= largest))
    throw ArgumentError(fmt::format("lambda: is {}, of {} with {} levels it must lie in [0, {}]", lambda,
                                    to_string(kernel), n_levels, largest));
}

/// The value relative to that of equal categories, which may itself be 0 at the end of the range.
double relative_value(CategoryKernel kernel, Index distance, Index n_levels, double lambda) {
  if (distance == 0) return 1.0;
  switch (kernel) {
    case CategoryKernel::aitchison_aitken:
      // At the largest lambda all values are equal; as a quotient of rounded numbers they need not be.
      return lambda == largest_lambda(kernel, n_levels)
                 ? 1.0
                 : lambda / ((1.0 - lambda) * static_cast<double>(n_levels - 1));
    case CategoryKernel::li_racine:
      return lambda;
    case CategoryKernel::wang_van_ryzin:
      return 0.5 * std::pow(lambda, static_cast<double>(distance));
    case CategoryKernel::li_racine_ordered:
      return std::pow(lambda, static_cast<double>(distance));
  }
  throw ArgumentError("category kernel: not one of the enumeration");
}

}  // namespace

double category_value(CategoryKernel kernel, Index distance, Index n_levels, double lambda) {
  if (n_levels < 1 || distance < 0)
    throw ArgumentError(fmt::format("category: {} levels, distance {}", n_levels, distance));
  check_lambda(kernel, n_levels, lambda);
  const bool normalised =
      kernel == CategoryKernel::aitchison_aitken || kernel == CategoryKernel::wang_van_ryzin;
  return (normalised ? 1.0 - lambda : 1.0) * relative_value(kernel, distance, n_levels, lambda);
}

std::vector<CategoryFactor> category_factors(const Categories& categories, Index n) {
  const Index c = categories.codes.cols();
  if (c > 0 && categories.codes.rows() != n)
    throw ArgumentError(fmt::format("categories: have {} rows, y has {}", categories.codes.rows(), n));
  if (std::ssize(categories.kernels) != c)
    throw ArgumentError(fmt::format("categories: {} kernels for {} columns", categories.kernels.size(), c));
  if (!categories.levels.empty() && std::ssize(categories.levels) != c)
    throw ArgumentError(fmt::format("categories: levels of {} columns for {}", categories.levels.size(), c));
  std::vector<CategoryFactor> factors;
  for (Index k = 0; k < c; ++k) {
    const auto codes = categories.codes.col(k);
    CategoryFactor& factor = factors.emplace_back();
    factor.kernel = categories.kernels[static_cast<std::size_t>(k)];
    if (!categories.levels.empty()) factor.codes = categories.levels[static_cast<std::size_t>(k)];
    if (factor.codes.empty()) factor.codes.assign(codes.begin(), codes.end());
    std::sort(factor.codes.begin(), factor.codes.end());
    factor.codes.erase(std::unique(factor.codes.begin(), factor.codes.end()), factor.codes.end());
    factor.n_levels = std::ssize(factor.codes);
    for (const std::int32_t code : codes) {
      factor.level.push_back(level_of(factor, code));
      if (factor.level.back() < 0)
        throw ArgumentError(
            fmt::format("categories: column {} has code {}, which is none of its levels", k, code));
    }
  }
  return factors;
}

Index level_of(const CategoryFactor& factor, std::int32_t code) {
  const auto found = std::lower_bound(factor.codes.begin(), factor.codes.end(), code);
  return found != factor.codes.end() && *found == code ? found - factor.codes.begin() : -1;
}

void set_lambda(CategoryFactor& factor, double lambda) {
  check_lambda(factor.kernel, factor.n_levels, lambda);
  // A query may have a level that no key has: of one level too there is a value for another.
  const Index distances = is_ordered(factor.kernel) ? factor.n_levels : 2;
  factor.log_value.clear();
  factor.slope.clear();
  const double step = factor.kernel == CategoryKernel::aitchison_aitken ? 1.0 / (1.0 - lambda) : 1.0;
  for (Index distance = 0; distance < distances; ++distance) {
    factor.log_value.push_back(std::log(relative_value(factor.kernel, distance, factor.n_levels, lambda)));
    factor.slope.push_back(step * static_cast<double>(distance));
  }
}

void set_lambdas(std::vector<CategoryFactor>& factors, VectorView lambda) {
  if (lambda.size() != std::ssize(factors))
    throw ArgumentError(
        fmt::format("lambda: has {} values for {} category columns", lambda.size(), factors.size()));
  for (std::size_t k = 0; k < factors.size(); ++k) set_lambda(factors[k], lambda[static_cast<Index>(k)]);
}

}  // namespace headspan::nw
