#include "headspan/nw/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headspan/numeric/error.h"

namespace headspan::nw {

const char* to_string(KernelFunction function) {
  switch (function) {
    case KernelFunction::gaussian:
      return "gaussian";
    case KernelFunction::softmax:
      return "softmax";
    case KernelFunction::laplace:
      return "laplace";
    case KernelFunction::epanechnikov:
      return "epanechnikov";
    case KernelFunction::biweight:
      return "biweight";
    case KernelFunction::triweight:
      return "triweight";
    case KernelFunction::tricube:
      return "tricube";
    case KernelFunction::uniform:
      return "uniform";
  }
  throw ArgumentError("kernel function: not one of the enumeration");
}

const char* to_string(KernelShape shape) { return shape == KernelShape::radial ? "radial" : "product"; }

std::optional<KernelFunction> kernel_function_named(std::string_view name) {
  for (const KernelFunction function : kKernelFunctions)
    if (name == to_string(function)) return function;
  return std::nullopt;
}

bool is_compact(KernelFunction function) {
  return function != KernelFunction::gaussian && function != KernelFunction::softmax &&
         function != KernelFunction::laplace;
}

double kernel_value(KernelFunction function, double u) {
  const double inside = std::max(0.0, 1.0 - u * u);
  switch (function) {
    case KernelFunction::gaussian:
      return std::exp(-0.5 * u * u);
    case KernelFunction::laplace:
      return std::exp(-u);
    case KernelFunction::epanechnikov:
      return inside;
    case KernelFunction::biweight:
      return inside * inside;
    case KernelFunction::triweight:
      return inside * inside * inside;
    case KernelFunction::tricube:
      return std::pow(std::max(0.0, 1.0 - u * u * u), 3.0);
    case KernelFunction::uniform:
      return u <= 1.0 ? 1.0 : 0.0;
    case KernelFunction::softmax:
      break;
  }
  throw ArgumentError("kernel function softmax is no function of a distance");
}

namespace {

double log_kernel_value(KernelFunction function, double u) {
  // Far away the kernel itself underflows; its logarithm does not.
  if (function == KernelFunction::gaussian) return -0.5 * u * u;
  if (function == KernelFunction::laplace) return -u;
  return std::log(kernel_value(function, u));
}

}  // namespace

double log_weight(const Kernel& kernel, VectorView query, VectorView key, VectorView bandwidth) {
  const Index d = query.size();
  if (key.size() != d)
    throw ArgumentError(fmt::format("key: has {} dimensions, the query {}", key.size(), d));
  if (bandwidth.size() != 1 && bandwidth.size() != d)
    throw ArgumentError(fmt::format("bandwidth: has {} values, wants 1 or {}", bandwidth.size(), d));
  if (!(bandwidth.minCoeff() > 0.0)) throw ArgumentError("bandwidth: must be positive");
  const auto h = [&](Index j) { return bandwidth.size() == 1 ? bandwidth[0] : bandwidth[j]; };
  double squares = 0.0, logs = 0.0, dots = 0.0;
  for (Index j = 0; j < d; ++j) {
    if (kernel.function == KernelFunction::softmax) {
      dots += query[j] * key[j] / (h(j) * h(j));
      continue;
    }
    const double u = std::abs(query[j] - key[j]) / h(j);
    squares += u * u;
    if (kernel.shape == KernelShape::product) logs += log_kernel_value(kernel.function, u);
  }
  if (kernel.function == KernelFunction::softmax) return dots;
  return kernel.shape == KernelShape::product ? logs : log_kernel_value(kernel.function, std::sqrt(squares));
}

}  // namespace headspan::nw
