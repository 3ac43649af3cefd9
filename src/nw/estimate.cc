#include "headspan/nw/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "nw/constants.h"
#include "nw/estimate_parts.h"
#include "nw/line.h"
#include "nw/scoring.h"
#include "nw/sums.h"
#include "nw/tree.h"

namespace headspan::nw {

const char* to_string(PointStatus status) {
  switch (status) {
    case PointStatus::ok:
      return "ok";
    case PointStatus::no_neighbour:
      return "no neighbour";
    case PointStatus::nearest:
      return "nearest neighbour";
    case PointStatus::no_other_key:
      return "no other key";
  }
  throw ArgumentError("point status: not one of the enumeration");
}

namespace {

// Below this a query's weights lie so far from every key that the largest should be the unit.
template <class T>
constexpr double kFarSum = sizeof(T) == 4 ? 1e-12 : 1e-100;

// The estimate of one query from the definition, weights relative to the largest: what far queries fall back
// to.
template <class T>
struct Definition {
  const Kernel& kernel;
  const Inputs<T>& inputs;
  const Eigen::Ref<const RowMatrix<T>>& values;
  bool own_key_out;

  Vector log_weights(Index query) const {
    const Vector q = inputs.queries.row(query).transpose().template cast<double>();
    Vector logs(inputs.keys.rows());
    for (Index i = 0; i < logs.size(); ++i)
      logs[i] = own_key_out && i == query
                    ? -kInfinity
                    : log_weight(kernel, q, inputs.keys.row(i).transpose().template cast<double>(),
                                 inputs.bandwidth);
    return logs;
  }

  // Only an exponential kernel comes here; where even its logarithm overflows the nearest key takes all.
  void apply(Index query, Accumulated& to) const {
    Vector logs = log_weights(query);
    double top = logs.maxCoeff();
    if (top == -kInfinity) {
      logs = nearness(query);
      top = logs.maxCoeff();
    }
    to.log_shift[query] = 0.0;
    to.sums.weight[query] = to.sums.squares[query] = 0.0;
    to.sums.values.row(query).setZero();
    if (top == -kInfinity) return;
    to.log_shift[query] = top;
    for (Index i = 0; i < logs.size(); ++i) {
      const double w = std::exp(logs[i] - top);
      to.sums.weight[query] += w;
      to.sums.squares[query] += w * w;
      to.sums.values.row(query) += w * values.row(i).template cast<double>();
    }
  }

  // Log weights of a kernel so narrow that only the nearest keys count: 0 there, -inf elsewhere.
  Vector nearness(Index query) const {
    const Vector q = inputs.queries.row(query).transpose().template cast<double>();
    Vector distance(inputs.keys.rows());
    for (Index i = 0; i < distance.size(); ++i) {
      const Vector u =
          (q - inputs.keys.row(i).transpose().template cast<double>()).cwiseQuotient(inputs.bandwidth);
      distance[i] = own_key_out && i == query ? kInfinity : u.stableNorm();
    }
    const double nearest = distance.minCoeff();
    if (nearest == kInfinity) return Vector::Constant(distance.size(), -kInfinity);
    return distance.unaryExpr([&](double r) { return r == nearest ? 0.0 : -kInfinity; });
  }
};

// Keeps the given queries only.
template <class T>
void keep_queries(const std::vector<Index>& rows, Scoring<T>& scoring) {
  RowMatrix<T> queries(static_cast<Index>(rows.size()), scoring.d);
  std::vector<T> shift(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    queries.row(static_cast<Index>(i)) = scoring.queries.row(rows[i]);
    shift[i] = scoring.shift[static_cast<std::size_t>(rows[i])];
  }
  scoring.queries = std::move(queries);
  scoring.shift = std::move(shift);
}

// Beyond this a score's own rounding changes a weight by more than the promised accuracy.
template <class T>
constexpr double kFarthestScore = sizeof(T) == 4 ? 128.0 : 1000.0;

// Sums with every weight relative to the query's largest. A query that is too far for this precision keeps
// what it has, too little.
template <class T>
void sum_relative_to_largest(const Eigen::Ref<const RowMatrix<T>>& values, const SumOptions& options,
                             const std::vector<Index>& rows, double limit, Scoring<T>& scoring,
                             Accumulated& out) {
  const std::vector<T> zero_score = scoring.shift;
  scoring.shift = largest_scores(scoring, options.own_key_out);
  std::vector<double> log_shift(rows.size());
  std::vector<bool> rounds_away(rows.size(), false);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    T& shift = scoring.shift[i];
    if (!std::isfinite(shift)) shift = zero_score[i];
    rounds_away[i] = std::abs(static_cast<double>(shift) - static_cast<double>(zero_score[i])) > limit;
    log_shift[i] = kLn2 * (static_cast<double>(shift) - static_cast<double>(zero_score[i]));
  }
  const Sums sums = sum_over_keys(scoring, values, options);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto from = static_cast<Index>(i);
    if (rounds_away[i]) continue;
    out.log_shift[rows[i]] = log_shift[i];
    put_row(sums, from, rows[i], out.sums);
  }
}

template <class T>
std::vector<Index> far_queries(const Accumulated& sums) {
  std::vector<Index> far;
  for (Index q = 0; q < sums.sums.weight.size(); ++q)
    if (!(sums.sums.weight[q] >= kFarSum<T>)) far.push_back(q);
  return far;
}

// Fewer keys are sooner summed than sorted.
constexpr Index kFewestPrunedKeys = 2048;

bool prunes(const EstimateOptions& options, Index n, Index d) {
  const KernelFunction function = options.kernel.function;
  return n >= kFewestPrunedKeys && d <= kMostPrunedDimensions &&
         (is_compact(function) || (function == KernelFunction::gaussian && options.relative_error > 0.0));
}

template <class T>
RowMatrix<T> rows_in_order(const Eigen::Ref<const RowMatrix<T>>& rows, const std::vector<Index>& order) {
  RowMatrix<T> out(rows.rows(), rows.cols());
  for (Index i = 0; i < rows.rows(); ++i) out.row(i) = rows.row(order[static_cast<std::size_t>(i)]);
  return out;
}

template <class T>
KeyTree tree_of(const Eigen::Ref<const RowMatrix<T>>& rows, const Vector& bandwidth) {
  const Matrix scaled = rows.template cast<double>() * bandwidth.cwiseInverse().asDiagonal();
  return build_tree(scaled);
}

// Sums in the order of the trees, put back into that of the queries.
template <class T>
Sums pruned_sums(const Inputs<T>& inputs, const Eigen::Ref<const RowMatrix<T>>& values,
                 const EstimateOptions& options) {
  const KeyTree keys = tree_of<T>(inputs.keys, inputs.bandwidth);
  // Query i leaves out key i, so both go in one order.
  const KeyTree queries = options.leave_one_out ? keys : tree_of<T>(inputs.queries, inputs.bandwidth);
  const RowMatrix<T> key_rows = rows_in_order<T>(inputs.keys, keys.order);
  const RowMatrix<T> query_rows = rows_in_order<T>(inputs.queries, queries.order);
  const RowMatrix<T> value_rows = rows_in_order<T>(values, keys.order);
  const Scoring<T> scoring = prepare<T>(options.kernel, {query_rows, key_rows, inputs.bandwidth});
  const Sums sums = sum_over_near_keys<T>(scoring, value_rows, {options.leave_one_out, true},
                                          {options.kernel, queries, keys, options.relative_error});
  Sums out = sums;
  for (Index i = 0; i < sums.weight.size(); ++i)
    put_row(sums, i, queries.order[static_cast<std::size_t>(i)], out);
  return out;
}

template <class T>
Sums sums_of_kernel(const Inputs<T>& inputs, const Eigen::Ref<const RowMatrix<T>>& values,
                    const EstimateOptions& options) {
  if (inputs.queries.rows() == 0 || !prunes(options, inputs.keys.rows(), inputs.keys.cols()))
    return sum_over_keys(prepare(options.kernel, inputs), values, {options.leave_one_out, true});
  if (inputs.keys.cols() == 1 && options.relative_error > 0.0 && !options.leave_one_out) {
    const Vector queries = inputs.queries.col(0).template cast<double>();
    const Vector keys = inputs.keys.col(0).template cast<double>();
    const Matrix wide = values.template cast<double>();
    const double bandwidth = inputs.bandwidth[0], error = options.relative_error;
    return options.kernel.function == KernelFunction::gaussian
               ? sum_on_line(queries, keys, wide, bandwidth, error)
               : sum_on_line_compact(options.kernel.function, queries, keys, wide, bandwidth, error);
  }
  return pruned_sums(inputs, values, options);
}

template <class T>
Accumulated accumulate_radial(const Inputs<T>& inputs, const Eigen::Ref<const RowMatrix<T>>& values,
                              const EstimateOptions& options) {
  const Index m = inputs.queries.rows();
  const SumOptions sum_options{options.leave_one_out, true};
  Accumulated out{{Vector::Zero(m), Vector::Zero(m), Matrix::Zero(m, values.cols())}, Vector::Zero(m)};
  std::vector<Index> far;
  if (options.kernel.function == KernelFunction::softmax) {
    for (Index q = 0; q < m; ++q) far.push_back(q);
  } else {
    out.sums = sums_of_kernel(inputs, values, options);
    // Leaving out needs query i beside key i, which a choice of queries is not.
    if (options.kernel.function == KernelFunction::gaussian && !options.leave_one_out)
      far = far_queries<T>(out);
  }
  if (far.empty()) return out;
  Scoring<T> scoring = prepare(options.kernel, inputs);
  keep_queries(far, scoring);
  // The scores of a softmax are what they are; distances can be had more precisely.
  const double limit = options.kernel.function == KernelFunction::softmax ? kInfinity : kFarthestScore<T>;
  sum_relative_to_largest(values, sum_options, far, limit, scoring, out);
  return out;
}

// What single precision cannot resolve, once more in double.
void redo_in_double(const Inputs<float>& inputs, const Eigen::Ref<const RowMatrix<float>>& values,
                    const EstimateOptions& options, const std::vector<Index>& rows, Accumulated& out) {
  Matrix queries(static_cast<Index>(rows.size()), inputs.queries.cols());
  for (std::size_t i = 0; i < rows.size(); ++i)
    queries.row(static_cast<Index>(i)) = inputs.queries.row(rows[i]).cast<double>();
  const Matrix keys = inputs.keys.cast<double>();
  const Matrix wide_values = values.cast<double>();
  const Accumulated again =
      accumulate_radial<double>({queries, keys, inputs.bandwidth}, wide_values, options);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto from = static_cast<Index>(i);
    out.log_shift[rows[i]] = again.log_shift[from];
    put_row(again.sums, from, rows[i], out.sums);
  }
}

template <class T>
Accumulated accumulate(const Inputs<T>& inputs, const Eigen::Ref<const RowMatrix<T>>& values,
                       const EstimateOptions& options) {
  const KernelFunction function = options.kernel.function;
  const bool product = options.kernel.shape == KernelShape::product && inputs.keys.cols() > 1 &&
                       function != KernelFunction::gaussian && function != KernelFunction::softmax;
  Accumulated out =
      product ? Accumulated{sum_over_keys_of_product(function, inputs, values, {options.leave_one_out, true}),
                            Vector::Zero(inputs.queries.rows())}
              : accumulate_radial(inputs, values, options);
  if (is_compact(function)) return out;
  std::vector<Index> far = far_queries<T>(out);
  if (far.empty()) return out;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (function == KernelFunction::gaussian && !options.leave_one_out) {
      redo_in_double(inputs, values, options, far, out);
      far = far_queries<double>(out);
    }
  }
  const Definition<T> definition{options.kernel, inputs, values, options.leave_one_out};
  parallel_for(static_cast<Index>(far.size()),
               [&](Index i) { definition.apply(far[static_cast<std::size_t>(i)], out); });
  return out;
}

}  // namespace

template <class T>
Estimate<T> estimate(const Eigen::Ref<const RowMatrix<T>>& queries,
                     const Eigen::Ref<const RowMatrix<T>>& keys, const Eigen::Ref<const RowMatrix<T>>& values,
                     const EstimateOptions& options) {
  check_estimate<T>(queries, keys, values, options);
  if (keys.cols() == 0) throw ArgumentError("keys: have no dimension");
  const Vector bandwidth = full_bandwidth(options.bandwidth, keys.cols());
  const Inputs<T> inputs{queries, keys, bandwidth};
  const auto nearest = [&](Index q) {
    return nearest_key(inputs, q, [&](Index i) { return !options.leave_one_out || i != q; });
  };
  return finish<T>(inputs, values, options, accumulate(inputs, values, options), nearest);
}

template Estimate<float> estimate(const Eigen::Ref<const RowMatrix<float>>&,
                                  const Eigen::Ref<const RowMatrix<float>>&,
                                  const Eigen::Ref<const RowMatrix<float>>&, const EstimateOptions&);
template Estimate<double> estimate(const Eigen::Ref<const RowMatrix<double>>&,
                                   const Eigen::Ref<const RowMatrix<double>>&,
                                   const Eigen::Ref<const RowMatrix<double>>&, const EstimateOptions&);

}  // namespace headspan::nw
