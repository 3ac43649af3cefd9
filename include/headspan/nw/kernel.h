#pragma once
// Kernel functions of Nadaraya-Watson regression: a closed set, named by the field's usual names.

#include <array>
#include <optional>
#include <string_view>

#include "headspan/numeric/matrix.h"

namespace headspan::nw {

/// The kernel function k. With u the distance of a query and a key divided by the bandwidth:
///   gaussian exp(-u^2/2); laplace exp(-u); epanechnikov (1-u^2)+; biweight (1-u^2)+^2; triweight (1-u^2)+^3;
///   tricube (1-u^3)+^3; uniform 1 for u <= 1.
/// softmax is no function of the distance: exp(q.k / bandwidth^2), bandwidth^2 being the temperature.
enum class KernelFunction { gaussian, softmax, laplace, epanechnikov, biweight, triweight, tricube, uniform };

inline constexpr std::array kKernelFunctions = {KernelFunction::gaussian, KernelFunction::softmax,
                                                KernelFunction::laplace,  KernelFunction::epanechnikov,
                                                KernelFunction::biweight, KernelFunction::triweight,
                                                KernelFunction::tricube,  KernelFunction::uniform};

/// How several dimensions combine. radial: k of the Euclidean length of the scaled difference, what attention
/// and projection heads use; product: the product of k over the dimensions, the convention of multivariate
/// kernel regression. The same for gaussian, for softmax, and in one dimension.
enum class KernelShape { radial, product };

struct Kernel {
  KernelFunction function = KernelFunction::gaussian;
  KernelShape shape = KernelShape::radial;
};

/// Lower-case name, as printed and parsed.
const char* to_string(KernelFunction function);
const char* to_string(KernelShape shape);
std::optional<KernelFunction> kernel_function_named(std::string_view name);

/// True where k vanishes beyond one bandwidth, so that a query may have no neighbour.
bool is_compact(KernelFunction function);

/// k(u) of one scaled distance u >= 0 (any kernel function but softmax). Throws ArgumentError for softmax.
double kernel_value(KernelFunction function, double u);

/// The weight of one key before normalisation, in double and from the definition: the slow twin of the vector
/// kernels. `query`, `key` [d]; `bandwidth` [d] or one for all dimensions. Infinite weights do not occur for
/// any kernel but softmax. Throws ArgumentError on sizes that disagree or a bandwidth that is not positive.
double log_weight(const Kernel& kernel, VectorView query, VectorView key, VectorView bandwidth);

}  // namespace headspan::nw
