#include "nw/estimate_parts.h"

#include <fmt/format.h>

#include <cmath>

#include "headspan/numeric/error.h"
#include "nw/constants.h"

namespace headspan::nw {
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
  if (query_dim != key_dim)
    throw ArgumentError(fmt::format("queries: have {} dimensions, the keys {}", query_dim, key_dim));
  if (n_values != n) throw ArgumentError(fmt::format("values: there are {}, but {} keys", n_values, n));
  if (value_dim == 0) throw ArgumentError("values: have no dimension");
}

// The largest weight a key can have at this query: that of the query itself.
template <class T>
double log_own_weight(const Kernel& kernel, const Inputs<T>& inputs, Index q) {
  if (kernel.function != KernelFunction::softmax || inputs.keys.cols() == 0) return 0.0;
  const Vector x = inputs.queries.row(q).transpose().template cast<double>();
  const Vector own = inputs.keys.row(q).transpose().template cast<double>();
  return log_weight(kernel, x, own, inputs.bandwidth);
}

template <class T>
void finish_without_neighbour(const Eigen::Ref<const RowMatrix<T>>& values, const EstimateOptions& options,
                              const std::function<Index(Index)>& nearest, Index q, Estimate<T>& to) {
  const auto at = static_cast<std::size_t>(q);
  to.log_normaliser[q] = -kInfinity;
  to.n_eff[q] = 0.0;
  to.output.row(q).setConstant(static_cast<T>(kNaN));
  to.status[at] = options.leave_one_out ? PointStatus::no_other_key : PointStatus::no_neighbour;
  if (!options.nearest_if_none) return;
  const Index key = nearest(q);
  if (key < 0) return;
  to.output.row(q) = values.row(key);
  to.n_eff[q] = 1.0;
  to.status[at] = PointStatus::nearest;
}

}  // namespace

template <class T>
void check_estimate(const Eigen::Ref<const RowMatrix<T>>& queries, const Eigen::Ref<const RowMatrix<T>>& keys,
                    const Eigen::Ref<const RowMatrix<T>>& values, const EstimateOptions& options) {
  check_sizes(queries.cols(), keys.cols(), keys.rows(), values.rows(), values.cols());
  if (options.leave_one_out && queries.rows() != keys.rows())
    throw ArgumentError(
        fmt::format("leave_one_out: query i leaves out key i, but there are {} queries and {} keys",
                    queries.rows(), keys.rows()));
  if (!(options.relative_error >= 0.0) || options.relative_error >= 1.0)
    throw ArgumentError(
        fmt::format("relative_error: is {}, must be from 0 to below 1", options.relative_error));
  check_finite<T>("queries", queries);
  check_finite<T>("keys", keys);
  check_finite<T>("values", values);
}

template <class T>
Index nearest_key(const Inputs<T>& inputs, Index query, const std::function<bool(Index)>& is_candidate) {
  Index best = -1;
  double least = kInfinity;
  for (Index i = 0; i < inputs.keys.rows(); ++i) {
    if (!is_candidate(i)) continue;
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
Estimate<T> finish(const Inputs<T>& inputs, const Eigen::Ref<const RowMatrix<T>>& values,
                   const EstimateOptions& options, const Accumulated& sums,
                   const std::function<Index(Index)>& nearest) {
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
      finish_without_neighbour(values, options, nearest, q, out);
      continue;
    }
    out.n_eff[q] = total * total / sums.sums.squares[q];
    out.output.row(q) = (sums.sums.values.row(q) / total).template cast<T>();
  }
  return out;
}

template void check_estimate(const Eigen::Ref<const RowMatrix<float>>&,
                             const Eigen::Ref<const RowMatrix<float>>&,
                             const Eigen::Ref<const RowMatrix<float>>&, const EstimateOptions&);
template void check_estimate(const Eigen::Ref<const RowMatrix<double>>&,
                             const Eigen::Ref<const RowMatrix<double>>&,
                             const Eigen::Ref<const RowMatrix<double>>&, const EstimateOptions&);
template Index nearest_key(const Inputs<float>&, Index, const std::function<bool(Index)>&);
template Index nearest_key(const Inputs<double>&, Index, const std::function<bool(Index)>&);
template Estimate<float> finish(const Inputs<float>&, const Eigen::Ref<const RowMatrix<float>>&,
                                const EstimateOptions&, const Accumulated&,
                                const std::function<Index(Index)>&);
template Estimate<double> finish(const Inputs<double>&, const Eigen::Ref<const RowMatrix<double>>&,
                                 const EstimateOptions&, const Accumulated&,
                                 const std::function<Index(Index)>&);

}  // namespace headspan::nw
