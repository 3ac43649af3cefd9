#pragma once
// A column of categories as the pair loops read it.

#include <vector>

#include "headspan/nw/category.h"

namespace headspan::nw {

/// Weights are compared within a row only, so kernel values are relative to that of equal categories.
struct CategoryFactor {
  CategoryKernel kernel = CategoryKernel::aitchison_aitken;
  std::vector<std::int32_t> codes;  ///< [n_levels] the column's codes, ascending
  std::vector<Index> level;         ///< [n] rank of the code among the column's codes
  Index n_levels = 0;
  std::vector<double>
      log_value;              ///< by distance in levels (unordered: 0 or 1); empty: the column is left out
  std::vector<double> slope;  ///< [log_value.size()] derivative of log_value with respect to log lambda
};

/// One factor for every column, lambdas not set. Throws ArgumentError on sizes that disagree.
std::vector<CategoryFactor> category_factors(const Categories& categories, Index n);

/// The rank of a code among the column's codes; -1 where it is none of them.
Index level_of(const CategoryFactor& factor, std::int32_t code);

/// Sets log_value and slope. Throws ArgumentError for a lambda outside its range.
void set_lambda(CategoryFactor& factor, double lambda);

/// The same of every column; `lambda` [c]. Throws ArgumentError also on another number of them.
void set_lambdas(std::vector<CategoryFactor>& factors, VectorView lambda);

}  // namespace headspan::nw
