#pragma once
// Kernel functions of categories, and smoothers whose weights are products of them and of kernels of numbers.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "headspan/nw/bandwidth.h"

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

}  // namespace headspan::nw
