#pragma once
// Kernel functions of categories, and smoothers whose weights are products of them and of kernels of numbers.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headspan/nw/bandwidth.h"
#include "headspan/nw/estimate.h"

namespace headspan::nw {

/// How alike two categories are, given lambda; c is the number of levels, r the distance of two ordered
/// levels, counted in levels [li-racine2007]. lambda = 0 compares equal categories only.
///   aitchison_aitken, unordered: 1 - lambda if equal, lambda / (c - 1) if not; 0 <= lambda <= (c - 1) / c;
///   li_racine, unordered: 1 if equal, lambda if not; 0 <= lambda <= 1;
///   wang_van_ryzin, ordered: 1 - lambda if equal, (1 - lambda) / 2 lambda^r if not; 0 <= lambda <= 1;
///   li_racine_ordered: lambda^r; 0 <= lambda <= 1.
/// At its largest lambda every kernel but wang_van_ryzin ignores the column.
enum class CategoryKernel { aitchison_aitken, li_racine, wang_van_ryzin, li_racine_ordered };

/// Lower-case name, as printed and parsed.
const char* to_string(CategoryKernel kernel);
std::optional<CategoryKernel> category_kernel_named(std::string_view name);

/// True where the order of the levels matters.
bool is_ordered(CategoryKernel kernel);

/// The largest lambda for `n_levels` levels.
double largest_lambda(CategoryKernel kernel, Index n_levels);

/// The kernel's value for two levels `distance` apart (unordered: 0 if equal, anything else if not). Throws
/// ArgumentError for a lambda outside its range, fewer than one level, or a negative distance.
double category_value(CategoryKernel kernel, Index distance, Index n_levels, double lambda);

/// Columns of categories. Codes are names: any integers, and only which are equal counts; of an ordered
/// column also which is larger, not by how much.
struct Categories {
  RowMatrix<std::int32_t> codes;        ///< [n, c]
  std::vector<CategoryKernel> kernels;  ///< [c]
  /// [c], or empty: every code that a column may have, those that no key has included. Of a column without
  /// any: the codes of the keys.
  std::vector<std::vector<std::int32_t>> levels = {};
};

/// smoother_scores() with weights multiplied by the category kernels; `lambda` [c]. `x` may have no column
/// (`bandwidth` then [0]). Every weight is exponentiated alone: O(n^2) time, several times that of numbers
/// only. At wang_van_ryzin's lambda = 1 the limit of the weights from below. Throws ArgumentError as
/// smoother_scores() and category_value() do, and on sizes that disagree.
SmootherScores smoother_scores(MatrixView x, VectorView y, const Kernel& kernel, VectorView bandwidth,
                               const Categories& categories, VectorView lambda);

/// select_bandwidth() over bandwidths and lambdas together; lambdas down to 1e-8 of their largest. Throws
/// ArgumentError also for a category column with one level.
BandwidthSelection select_bandwidth(MatrixView x, VectorView y, const SelectionOptions& options,
                                    const Categories& categories);

/// The categories of an estimate: of the keys, and of the queries beside them.
struct EstimateCategories {
  Categories keys;                  ///< codes [n, c]
  RowMatrix<std::int32_t> queries;  ///< [m, c] codes, of the same names
  Vector lambda;                    ///< [c]
};

/// estimate() with weights multiplied by the category kernels: f(q) = sum_i k(q, x_i) l(q, x_i) v_i over the
/// same sum without v, l the product of category_value() over the columns of categories. `queries` [m, d],
/// `keys` [n, d], `values` [n, value_dim]; with d = 0 categories alone count, and no bandwidth does. The
/// levels of a column are those of the keys unless `levels` names them. A query's level that is none of them
/// differs from every key, of an unordered column; of an ordered one it has no place, and is refused. With
/// lambda = 0 a query may have no neighbour under any kernel; nearest_if_none then takes, of the keys whose
/// categories are the most alike, the nearest. Always exact: relative_error is not used. Weights are relative
/// to a query's largest; at wang_van_ryzin's lambda = 1 they are the limit from below, and log_normaliser is
/// -inf. Every weight is exponentiated alone: O(m n) time, about ten times that of numbers only, O((m + n) (d
/// + c)) memory and a row of n per thread; relative 1e-12 times the condition of the sum, more where every
/// log weight is beyond -1e4, of which 1e-16 is lost; same bits for any number of threads. Without a column
/// of categories it is estimate() itself. Throws ArgumentError as estimate() and category_value() do, on
/// sizes that disagree, and on a level as said, naming column, query and code.
Estimate<double> estimate(MatrixView queries, MatrixView keys, MatrixView values,
                          const EstimateOptions& options, const EstimateCategories& categories);

}  // namespace headspan::nw
