#include "nw/scoring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headspan/numeric/error.h"
#include "nw/constants.h"

namespace headspan::nw {
namespace {

// Greatest |k|^2 + |q|^2, scaled, for which an expanded square keeps relative 1e-5 (float) or 1e-13 (double)
// of a weight; and greatest scaled length for which scaling before subtracting does.
template <class T>
constexpr double kExpandedLimit = sizeof(T) == 4 ? 128.0 : 900.0;
template <class T>
constexpr double kScaledLimit = sizeof(T) == 4 ? 32.0 : 200.0;

template <class T>
double largest_norm2(const Eigen::Ref<const RowMatrix<T>>& rows, const Vector& centre,
                     const Vector& inverse) {
  double top = 0.0;
  for (Index i = 0; i < rows.rows(); ++i) {
    const double norm2 =
        ((rows.row(i).transpose().template cast<double>() - centre).array() * inverse.array()).square().sum();
    // A sum beyond the range of double is no number the expanded form could use either.
    top = std::max(top, std::isnan(norm2) ? std::numeric_limits<double>::infinity() : norm2);
  }
  return top;
}

// Rows minus `centre`, times `factor`, rounded once.
template <class T>
RowMatrix<T> prepared_rows(const Eigen::Ref<const RowMatrix<T>>& rows, const Vector& centre,
                           const Vector& factor) {
  RowMatrix<T> out(rows.rows(), rows.cols());
  for (Index i = 0; i < rows.rows(); ++i)
    out.row(i) = ((rows.row(i).transpose().template cast<double>() - centre).array() * factor.array())
                     .template cast<T>()
                     .transpose();
  return out;
}

template <class T>
void put_keys(const Eigen::Ref<const RowMatrix<T>>& rows, Scoring<T>& to) {
  const Index padded = round_up(to.n, 2 * kPanel<T>);
  to.keys.resize(padded * to.d);
  std::fill_n(to.keys.data(), padded * to.d, T(0));
  pack_keys(rows.data(), rows.outerStride(), to.n, to.d, to.keys.data());
  to.bias.resize(padded);
  std::fill_n(to.bias.data(), to.n, T(0));
  std::fill_n(to.bias.data() + to.n, padded - to.n, -std::numeric_limits<T>::infinity());
}

template <class T>
void use_softmax(const Inputs<T>& inputs, Scoring<T>& to) {
  const Vector zero = Vector::Zero(to.d);
  const Vector factor = kLog2E * inputs.bandwidth.array().square().inverse();
  to.queries = prepared_rows<T>(inputs.queries, zero, factor);
  put_keys<T>(inputs.keys, to);
}

// -|q - k|^2 = 2 q.k - |k|^2 - |q|^2, each times `unit` / 2: log2(e) for the gaussian, 2 for -u^2.
template <class T>
void use_products(const Inputs<T>& inputs, const Vector& centre, double unit, Scoring<T>& to) {
  const Vector inverse = inputs.bandwidth.cwiseInverse();
  const RowMatrix<T> keys = prepared_rows<T>(inputs.keys, centre, inverse);
  put_keys<T>(keys, to);
  for (Index i = 0; i < to.n; ++i)
    to.bias[i] = static_cast<T>(-0.5 * unit * keys.row(i).template cast<double>().squaredNorm());
  to.queries = prepared_rows<T>(inputs.queries, centre, unit * inverse);
  for (Index i = 0; i < to.queries.rows(); ++i)
    to.shift[static_cast<std::size_t>(i)] =
        static_cast<T>(0.5 / unit * to.queries.row(i).template cast<double>().squaredNorm());
}

template <class T>
void use_differences(const Inputs<T>& inputs, const Vector& centre, double unit, bool scale_first,
                     Scoring<T>& to) {
  const Vector factor = std::sqrt(0.5 * unit) * inputs.bandwidth.cwiseInverse();
  if (scale_first) {
    to.how = TileScore::difference;
    put_keys<T>(prepared_rows<T>(inputs.keys, centre, factor), to);
    to.queries = prepared_rows<T>(inputs.queries, centre, factor);
    return;
  }
  to.how = TileScore::scaled_difference;
  put_keys<T>(inputs.keys, to);
  to.queries = inputs.queries;
  to.scale.resize(static_cast<std::size_t>(to.d));
  for (Index j = 0; j < to.d; ++j) to.scale[static_cast<std::size_t>(j)] = static_cast<T>(factor[j]);
}

}  // namespace

// The square of its inverse is a number.
constexpr double kNarrowestBandwidth = 1e-150;

Vector full_bandwidth(const Vector& bandwidth, Index d) {
  if (bandwidth.size() != 1 && bandwidth.size() != d)
    throw ArgumentError(
        fmt::format("bandwidth: has {} values, wants one for all dimensions or {}", bandwidth.size(), d));
  for (Index j = 0; j < bandwidth.size(); ++j) {
    if (!(bandwidth[j] > 0.0))
      throw ArgumentError(fmt::format("bandwidth: is {}, must be positive", bandwidth[j]));
    if (bandwidth[j] < kNarrowestBandwidth)
      throw ArgumentError(fmt::format("bandwidth: is {}, below {}, where its square leaves double",
                                      bandwidth[j], kNarrowestBandwidth));
  }
  return bandwidth.size() == d ? bandwidth : Vector::Constant(d, bandwidth[0]);
}

TileWeight tile_weight(KernelFunction function) {
  switch (function) {
    case KernelFunction::gaussian:
    case KernelFunction::softmax:
      return TileWeight::exp2;
    case KernelFunction::laplace:
      return TileWeight::laplace;
    case KernelFunction::epanechnikov:
      return TileWeight::epanechnikov;
    case KernelFunction::biweight:
      return TileWeight::biweight;
    case KernelFunction::triweight:
      return TileWeight::triweight;
    case KernelFunction::tricube:
      return TileWeight::tricube;
    case KernelFunction::uniform:
      return TileWeight::uniform;
  }
  throw ArgumentError("kernel function: not one of the enumeration");
}

template <class T>
Scoring<T> prepare(const Kernel& kernel, const Inputs<T>& inputs) {
  Scoring<T> to;
  to.weight = tile_weight(kernel.function);
  to.d = inputs.keys.cols();
  to.n = inputs.keys.rows();
  to.shift.assign(static_cast<std::size_t>(inputs.queries.rows()), T(0));
  if (kernel.function == KernelFunction::softmax) {
    use_softmax(inputs, to);
    return to;
  }
  const Vector centre = inputs.keys.template cast<double>().colwise().mean().transpose();
  const Vector inverse = inputs.bandwidth.cwiseInverse();
  const double keys2 = largest_norm2<T>(inputs.keys, centre, inverse);
  const double queries2 = largest_norm2<T>(inputs.queries, centre, inverse);
  // Inside its support a compact kernel loses by 1 - u^2 what an exponential does not: differences there.
  const bool exponential = kernel.function == KernelFunction::gaussian;
  const double unit = exponential ? kLog2E : 2.0;
  if (exponential && keys2 + queries2 <= kExpandedLimit<T>)
    use_products(inputs, centre, unit, to);
  else
    use_differences(inputs, centre, unit, std::sqrt(std::max(keys2, queries2)) <= kScaledLimit<T>, to);
  return to;
}

template Scoring<float> prepare(const Kernel&, const Inputs<float>&);
template Scoring<double> prepare(const Kernel&, const Inputs<double>&);

}  // namespace headspan::nw
