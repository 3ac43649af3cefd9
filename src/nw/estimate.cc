#include "headspan/nw/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "nw/constants.h"
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

template <class T>
void check_finite(const char* name, const Eigen::Ref<const RowMatrix<T>>& rows) {
  for (Index i = 0; i < rows.rows(); ++i)
    for (Index j = 0; j < rows.cols(); ++j)
      if (!std::isfinite(rows(i, j)))
        throw ArgumentError(
            fmt::format("{}: row {}, column {} is {}; every value must be finite: drop or fill it", name, i,
                        j, static_cast<double>(rows(i, j))));
}

void check_sizes(Index query_dim, Index key_dim, Index n, Index n_values, Index value_dim) {
  if (n == 0) throw ArgumentError("keys: there is no key, and an estimate is a mean of at least one value");
  if (key_dim == 0) throw ArgumentError("keys: have no dimension");
  if (query_dim != key_dim)
    throw ArgumentError(fmt::format("queries: have {} dimensions, the keys {}", query_dim, key_dim));
  if (n_values != n) throw ArgumentError(fmt::format("values: there are {}, but {} keys", n_values, n));
  if (value_dim == 0) throw ArgumentError("values: have no dimension");
}

// Scores and what they were shifted by, in natural logarithms.
struct Accumulated {
  Sums sums;
  Vector log_shift;
};

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
  if (inputs.keys.cols() == 1 && options.kernel.function == KernelFunction::gaussian &&
      !options.leave_one_out)
    return sum_on_line(inputs.queries.col(0).template cast<double>(),
                       inputs.keys.col(0).template cast<double>(), values.template cast<double>(),
                       inputs.bandwidth[0], options.relative_error);
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

// The largest weight a key can have at this query: that of the query itself.
template <class T>
double log_own_weight(const Kernel& kernel, const Inputs<T>& inputs, Index q) {
  if (kernel.function != KernelFunction::softmax) return 0.0;
  const Vector x = inputs.queries.row(q).transpose().template cast<double>();
  const Vector own = inputs.keys.row(q).transpose().template cast<double>();
  return log_weight(kernel, x, own, inputs.bandwidth);
}

template <class T>
Index nearest_key(const Inputs<T>& inputs, Index query, bool own_key_out) {
  Index best = -1;
  double least = kInfinity;
  for (Index i = 0; i < inputs.keys.rows(); ++i) {
    if (own_key_out && i == query) continue;
    const double distance = (inputs.queries.row(query) - inputs.keys.row(i))
                                .template cast<double>()
                                .transpose()
                                .cwiseQuotient(inputs.bandwidth)
                                .stableNorm();
    if (best < 0 || distance < least) {
      best = i;
      least = distance;
    }
  }
  return best;
}

template <class T>
void finish_without_neighbour(const Inputs<T>& inputs, const Eigen::Ref<const RowMatrix<T>>& values,
                              const EstimateOptions& options, Index q, Estimate<T>& to) {
  const auto at = static_cast<std::size_t>(q);
  to.log_normaliser[q] = -kInfinity;
  to.n_eff[q] = 0.0;
  to.output.row(q).setConstant(static_cast<T>(kNaN));
  to.status[at] = options.leave_one_out ? PointStatus::no_other_key : PointStatus::no_neighbour;
  if (!options.nearest_if_none) return;
  const Index nearest = nearest_key(inputs, q, options.leave_one_out);
  if (nearest < 0) return;
  to.output.row(q) = values.row(nearest);
  to.n_eff[q] = 1.0;
  to.status[at] = PointStatus::nearest;
}

template <class T>
Estimate<T> finish(const Inputs<T>& inputs, const Eigen::Ref<const RowMatrix<T>>& values,
                   const EstimateOptions& options, const Accumulated& sums) {
  const Index m = inputs.queries.rows();
  Estimate<T> out{RowMatrix<T>(m, values.cols()), Vector(m), Vector(m), Vector(options.leave_one_out ? m : 0),
                  std::vector<PointStatus>(static_cast<std::size_t>(m), PointStatus::ok)};
  for (Index q = 0; q < m; ++q) {
    const double total = sums.sums.weight[q];
    out.log_normaliser[q] = std::log(total) + sums.log_shift[q];
    if (options.leave_one_out)
      out.self_weight[q] =
          total > 0.0
              ? 1.0 / (1.0 + std::exp(out.log_normaliser[q] - log_own_weight(options.kernel, inputs, q)))
              : 1.0;
    if (!(total > 0.0)) {
      finish_without_neighbour(inputs, values, options, q, out);
      continue;
    }
    out.n_eff[q] = total * total / sums.sums.squares[q];
    out.output.row(q) = (sums.sums.values.row(q) / total).template cast<T>();
  }
  return out;
}

}  // namespace

template <class T>
Estimate<T> estimate(const Eigen::Ref<const RowMatrix<T>>& queries,
                     const Eigen::Ref<const RowMatrix<T>>& keys, const Eigen::Ref<const RowMatrix<T>>& values,
                     const EstimateOptions& options) {
  check_sizes(queries.cols(), keys.cols(), keys.rows(), values.rows(), values.cols());
  if (options.leave_one_out && queries.rows() != keys.rows())
    throw ArgumentError(
        fmt::format("leave_one_out: query i leaves out key i, but there are {} queries and {} keys",
                    queries.rows(), keys.rows()));
  if (!(options.relative_error >= 0.0) || options.relative_error >= 1.0)
    throw ArgumentError(
        fmt::format("relative_error: is {}, must be from 0 to below 1", options.relative_error));
  const Vector bandwidth = full_bandwidth(options.bandwidth, keys.cols());
  check_finite<T>("queries", queries);
  check_finite<T>("keys", keys);
  check_finite<T>("values", values);
  const Inputs<T> inputs{queries, keys, bandwidth};
  return finish(inputs, values, options, accumulate(inputs, values, options));
}

template Estimate<float> estimate(const Eigen::Ref<const RowMatrix<float>>&,
                                  const Eigen::Ref<const RowMatrix<float>>&,
                                  const Eigen::Ref<const RowMatrix<float>>&, const EstimateOptions&);
template Estimate<double> estimate(const Eigen::Ref<const RowMatrix<double>>&,
                                   const Eigen::Ref<const RowMatrix<double>>&,
                                   const Eigen::Ref<const RowMatrix<double>>&, const EstimateOptions&);

}  // namespace headspan::nw
