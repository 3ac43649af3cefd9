// Room nw: estimates, attention, covariances of weights, bandwidths.

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headspan/nw/attention.h"
#include "headspan/nw/category.h"
#include "headspan/nw/covariance.h"
#include "headspan/nw/gradient.h"
#include "headspan/nw/heads.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"

namespace headspan::python {
namespace {

using namespace nb::literals;

/// All names of a closed set, as an error lists them.
std::string listed(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const nw::KernelFunction function : nw::kKernelFunctions) names.emplace_back(to_string(function));
  return names;
}

nw::Kernel kernel_named(const std::string& function, const std::string& shape) {
  nw::Kernel kernel;
  const auto found = nw::kernel_function_named(function);
  if (!found)
    throw ArgumentError(fmt::format("kernel: '{}' is none of {}", function, listed(kernel_names())));
  kernel.function = *found;
  for (const nw::KernelShape known : {nw::KernelShape::radial, nw::KernelShape::product})
    if (shape == to_string(known)) {
      kernel.shape = known;
      return kernel;
    }
  throw ArgumentError(fmt::format("kernel_shape: '{}' is neither radial nor product", shape));
}

using Codes = Rows<std::int32_t>;

// Column k has codes 0 to n_levels[k] - 1.
nw::Categories categories_of(const Codes& codes, const std::vector<std::string>& kernels,
                             const std::vector<std::int32_t>& n_levels) {
  nw::Categories categories{view(codes), {}};
  for (const std::int32_t count : n_levels) {
    std::vector<std::int32_t>& levels = categories.levels.emplace_back(static_cast<std::size_t>(count));
    std::iota(levels.begin(), levels.end(), 0);
  }
  for (const std::string& name : kernels) {
    const auto found = nw::category_kernel_named(name);
    if (!found)
      throw ArgumentError(
          fmt::format("category_kernel: '{}' is none of aitchison_aitken, li_racine, "
                      "wang_van_ryzin, li_racine_ordered",
                      name));
    categories.kernels.push_back(*found);
  }
  return categories;
}

nw::Criterion criterion_named(const std::string& name) {
  const auto found = nw::criterion_named(name);
  if (!found) throw ArgumentError(fmt::format("criterion: '{}' is none of loo, gcv, aicc", name));
  return *found;
}

constexpr std::array<std::pair<const char*, nw::ScoreStage>, 4> kStages{
    {{"scaled", nw::ScoreStage::scaled},
     {"capped", nw::ScoreStage::capped},
     {"masked", nw::ScoreStage::masked},
     {"weights", nw::ScoreStage::weights}}};

nw::ScoreStage stage_named(std::string_view name) {
  for (const auto& [word, stage] : kStages)
    if (name == word) return stage;
  throw ArgumentError(fmt::format("return_scores: '{}' is none of scaled, capped, masked, weights", name));
}

const char* stage_name(nw::ScoreStage wanted) {
  for (const auto& [word, stage] : kStages)
    if (stage == wanted) return word;
  return "";
}

/// Statuses as numbers; the words are POINT_STATUSES, in this order.
nb::object status_array(std::vector<nw::PointStatus> values) {
  auto owned = std::make_unique<std::vector<nw::PointStatus>>(std::move(values));
  const auto* data = reinterpret_cast<const unsigned char*>(owned->data());
  const std::size_t size = owned->size();
  const nb::capsule owner(owned.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<nw::PointStatus>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, const unsigned char>(data, {size}, owner));
}

nb::tuple point_statuses() {
  return nb::make_tuple(to_string(nw::PointStatus::ok), to_string(nw::PointStatus::no_neighbour),
                        to_string(nw::PointStatus::nearest), to_string(nw::PointStatus::no_other_key));
}

template <class T>
nb::tuple result_of(nw::Estimate<T> found) {
  return nb::make_tuple(handed_over(std::move(found.output)), handed_over(std::move(found.log_normaliser)),
                        handed_over(std::move(found.n_eff)), handed_over(std::move(found.self_weight)),
                        status_array(std::move(found.status)));
}

nw::EstimateOptions estimate_options(const std::string& kernel, const std::string& kernel_shape,
                                     const Numbers& bandwidth, bool leave_one_out, bool nearest_if_none,
                                     double relative_error) {
  nw::EstimateOptions options;
  options.kernel = kernel_named(kernel, kernel_shape);
  options.bandwidth = view(bandwidth);
  options.leave_one_out = leave_one_out;
  options.nearest_if_none = nearest_if_none;
  options.relative_error = relative_error;
  return options;
}

template <class T>
nb::tuple estimate(const Rows<T>& queries, const Rows<T>& keys, const Rows<T>& values,
                   const std::string& kernel, const std::string& kernel_shape, const Numbers& bandwidth,
                   bool leave_one_out, bool nearest_if_none, double relative_error, int threads) {
  const nw::EstimateOptions options =
      estimate_options(kernel, kernel_shape, bandwidth, leave_one_out, nearest_if_none, relative_error);
  nw::Estimate<T> found =
      call(threads, [&] { return nw::estimate<T>(view(queries), view(keys), view(values), options); });
  return result_of(std::move(found));
}

nb::tuple estimate_with_categories(const Rows<double>& queries, const Rows<double>& keys,
                                   const Rows<double>& values, const std::string& kernel,
                                   const std::string& kernel_shape, const Numbers& bandwidth,
                                   bool leave_one_out, bool nearest_if_none, double relative_error,
                                   const Codes& codes, const std::vector<std::string>& category_kernels,
                                   const std::vector<std::int32_t>& n_levels, const Codes& query_codes,
                                   const Numbers& lambda, int threads) {
  const nw::EstimateOptions options =
      estimate_options(kernel, kernel_shape, bandwidth, leave_one_out, nearest_if_none, relative_error);
  const nw::EstimateCategories categories{categories_of(codes, category_kernels, n_levels), view(query_codes),
                                          view(lambda)};
  nw::Estimate<double> found = call(
      threads, [&] { return nw::estimate(view(queries), view(keys), view(values), options, categories); });
  return result_of(std::move(found));
}

template <class T>
nb::tuple estimate_heads(const Rows<T>& queries, const Rows<T>& keys, const Rows<T>& values,
                         const std::vector<Rows<double>>& projections, const std::vector<Numbers>& bandwidths,
                         const std::string& kernel, const std::string& kernel_shape, bool leave_one_out,
                         bool covariance, const Numbers& noise_variance, bool centred, bool average,
                         int threads) {
  const nw::HeadsOptions options{
      kernel_named(kernel, kernel_shape), leave_one_out, covariance, view(noise_variance), centred, average};
  std::vector<nw::Head> heads;
  for (std::size_t h = 0; h < projections.size(); ++h)
    heads.push_back({view(projections[h]), view(bandwidths.at(h))});
  nw::HeadsEstimate<T> found = call(threads, [&] {
    return nw::estimate_heads<T>(view(queries), view(keys), view(values), heads, options);
  });
  nb::list estimates;
  for (nw::Estimate<T>& one : found.heads) estimates.append(result_of(std::move(one)));
  return nb::make_tuple(estimates, handed_over(std::move(found.covariance)));
}

/// What is given to attention and to its covariance alike.
template <class T>
nw::AttentionInput<T> input_of(const Tensor<T>& query, const Tensor<T>& key,
                               const std::optional<Tensor<T>>& value, const std::optional<Tensor<T>>& bias,
                               const std::optional<Tensor<unsigned char>>& visible) {
  using View = nw::TensorView<T>;
  return {tensor<View>(std::optional(query)), tensor<View>(std::optional(key)), tensor<View>(value),
          tensor<View>(bias), tensor<nw::TensorView<unsigned char>>(visible)};
}

/// Batch entry b alone; an absent tensor stays absent.
template <class View>
View entry(View view, Index b) {
  if (!view) return view;
  view.data += b * view.stride[0];
  view.shape[0] = 1;
  return view;
}

/// body(input, options, b) once for the whole batch (b = -1), or for every entry by itself where their
/// offsets differ.
template <class T, class Body>
void by_offset(const nw::AttentionInput<T>& input, const nw::AttentionOptions& options,
               const std::vector<Index>& offsets, const Body& body) {
  if (offsets.empty()) return body(input, options, Index{-1});
  const Index batch = input.query.shape[0];
  if (static_cast<Index>(offsets.size()) != batch)
    throw ArgumentError(fmt::format("query_offset: {} of them for a batch of {}", offsets.size(), batch));
  for (Index b = 0; b < batch; ++b) {
    nw::AttentionOptions own = options;
    const auto at = static_cast<std::size_t>(b);
    own.query_offset = offsets[at];
    if (!options.n_keys.empty()) own.n_keys = {options.n_keys.at(at)};
    body({entry(input.query, b), entry(input.key, b), entry(input.value, b), entry(input.bias, b),
          entry(input.visible, b)},
         own, b);
  }
}

template <class T>
void attention(const Tensor<T>& query, const Tensor<T>& key, const Tensor<T>& value,
               const std::optional<Tensor<T>>& bias, const std::optional<Tensor<unsigned char>>& visible,
               const nw::AttentionOptions& options, const std::vector<Index>& query_offsets,
               const TensorOut<T>& output, const std::optional<TensorOut<double>>& log_normaliser,
               const std::optional<TensorOut<double>>& n_eff, const std::optional<TensorOut<T>>& scores,
               int threads) {
  const auto input = input_of<T>(query, key, std::optional(value), bias, visible);
  const nw::AttentionOutput<T> all{tensor<nw::TensorSpan<T>>(std::optional(output)),
                                   tensor<nw::TensorSpan<double>>(log_normaliser),
                                   tensor<nw::TensorSpan<double>>(n_eff), tensor<nw::TensorSpan<T>>(scores)};
  call(threads, [&] {
    by_offset(input, options, query_offsets,
              [&](const nw::AttentionInput<T>& part, const nw::AttentionOptions& own, Index b) {
                nw::attention<T>(
                    part, own,
                    b < 0 ? all
                          : nw::AttentionOutput<T>{entry(all.output, b), entry(all.log_normaliser, b),
                                                   entry(all.n_eff, b), entry(all.scores, b)});
              });
  });
}

template <class T>
void weight_covariance(const Tensor<T>& query, const Tensor<T>& key, const std::optional<Tensor<T>>& bias,
                       const std::optional<Tensor<unsigned char>>& visible,
                       const nw::AttentionOptions& options, const std::vector<Index>& query_offsets,
                       const Numbers& noise_variance, bool centred, bool average,
                       const TensorOut<double>& result, int threads) {
  auto input = input_of<T>(query, key, std::nullopt, bias, visible);
  // Covariances need no values; the first number of every key stands in for one.
  input.value = input.key;
  input.value.shape[3] = 1;
  const Vector noise = view(noise_variance);
  call(threads, [&] {
    by_offset(input, options, query_offsets,
              [&](const nw::AttentionInput<T>& part, const nw::AttentionOptions& own, Index b) {
                nw::attention_covariance<T>(part, {own, noise, centred, average}, {},
                                            result.data() + std::max<Index>(b, 0) * result.stride(0));
              });
  });
}

nb::dict smoother_scores(const Rows<double>& x, const Numbers& y, const std::string& kernel,
                         const std::string& kernel_shape, const Numbers& bandwidth, const Codes& codes,
                         const std::vector<std::string>& category_kernels,
                         const std::vector<std::int32_t>& n_levels, const Numbers& lambda, int threads) {
  const nw::Kernel known = kernel_named(kernel, kernel_shape);
  const nw::Categories categories = categories_of(codes, category_kernels, n_levels);
  nw::SmootherScores found = call(threads, [&] {
    return nw::smoother_scores(view(x), view(y), known, view(bandwidth), categories, view(lambda));
  });
  nb::dict out;
  out["fit"] = handed_over(std::move(found.fit));
  out["loo_residual"] = handed_over(std::move(found.loo_residual));
  out["n_eff"] = handed_over(std::move(found.n_eff));
  out["self_weight"] = handed_over(std::move(found.self_weight));
  out["loo"] = found.loo;
  out["gcv"] = found.gcv;
  out["aicc"] = found.aicc;
  out["trace"] = found.trace;
  out["trace_wwt"] = found.trace_wwt;
  out["sigma2"] = found.sigma2;
  out["n_isolated"] = found.n_isolated;
  return out;
}

nb::dict select_bandwidth(const Rows<double>& x, const Numbers& y, const std::string& kernel,
                          const std::string& kernel_shape, const std::string& criterion, bool per_dimension,
                          int n_starts, std::uint64_t seed, const Codes& codes,
                          const std::vector<std::string>& category_kernels,
                          const std::vector<std::int32_t>& n_levels, int threads) {
  nw::SelectionOptions options;
  options.kernel = kernel_named(kernel, kernel_shape);
  options.criterion = criterion_named(criterion);
  options.per_dimension = per_dimension;
  options.n_starts = n_starts;
  options.seed = seed;
  const nw::Categories categories = categories_of(codes, category_kernels, n_levels);
  nw::BandwidthSelection found =
      call(threads, [&] { return nw::select_bandwidth(view(x), view(y), options, categories); });
  nb::list minima;
  for (nw::BandwidthMinimum& one : found.minima)
    minima.append(
        nb::make_tuple(handed_over(std::move(one.bandwidth)), one.value, handed_over(std::move(one.lambda))));
  nb::dict out;
  out["bandwidth"] = handed_over(std::move(found.bandwidth));
  out["lambda"] = handed_over(std::move(found.lambda));
  out["value"] = found.value;
  out["irrelevant"] = found.irrelevant;
  out["irrelevant_category"] = found.irrelevant_category;
  out["at_edge"] = found.at_edge;
  out["minima"] = minima;
  out["n_evaluations"] = found.n_evaluations;
  return out;
}

nb::dict ensemble_loo(const Rows<double>& x, const Numbers& y, const std::vector<Rows<double>>& projections,
                      const Numbers& bandwidths, const Numbers& weights, const std::string& kernel,
                      const std::string& kernel_shape, int threads) {
  const nw::Kernel known = kernel_named(kernel, kernel_shape);
  std::vector<nw::EnsembleHead> heads;
  for (std::size_t h = 0; h < projections.size(); ++h) heads.push_back({view(projections[h]), bandwidths(h)});
  nw::EnsembleLoo found =
      call(threads, [&] { return nw::ensemble_loo(view(x), view(y), heads, view(weights), known); });
  nb::list by_projection;
  for (Matrix& one : found.by_projection) by_projection.append(handed_over(std::move(one)));
  nb::dict out;
  out["loo"] = found.loo;
  out["residual"] = handed_over(std::move(found.residual));
  out["by_projection"] = nb::tuple(by_projection);
  out["by_log_bandwidth"] = handed_over(std::move(found.by_log_bandwidth));
  out["by_weight"] = handed_over(std::move(found.by_weight));
  return out;
}

template <class T>
void bind_precision(nb::module_& module) {
  module.def("estimate", &estimate<T>, "queries"_a.noconvert(), "keys"_a.noconvert(), "values"_a.noconvert(),
             "kernel"_a, "kernel_shape"_a, "bandwidth"_a, "leave_one_out"_a, "nearest_if_none"_a,
             "relative_error"_a, "threads"_a);
  module.def("estimate_heads", &estimate_heads<T>, "queries"_a.noconvert(), "keys"_a.noconvert(),
             "values"_a.noconvert(), "projections"_a, "bandwidths"_a, "kernel"_a, "kernel_shape"_a,
             "leave_one_out"_a, "covariance"_a, "noise_variance"_a, "centred"_a, "average"_a, "threads"_a);
  module.def("attention", &attention<T>, "query"_a.noconvert(), "key"_a.noconvert(), "value"_a.noconvert(),
             "bias"_a.noconvert().none(), "visible"_a.noconvert().none(), "options"_a, "query_offsets"_a,
             "output"_a.noconvert(), "log_normaliser"_a.noconvert().none(), "n_eff"_a.noconvert().none(),
             "scores"_a.noconvert().none(), "threads"_a);
  module.def("weight_covariance", &weight_covariance<T>, "query"_a.noconvert(), "key"_a.noconvert(),
             "bias"_a.noconvert().none(), "visible"_a.noconvert().none(), "options"_a, "query_offsets"_a,
             "noise_variance"_a, "centred"_a, "average"_a, "result"_a.noconvert(), "threads"_a);
}

void bind_options(nb::module_& module) {
  using Options = nw::AttentionOptions;
  nb::class_<Options>(module, "AttentionOptions")
      .def(nb::init<>())
      .def_rw("scale", &Options::scale, nb::arg().none())
      .def_rw("soft_cap", &Options::soft_cap)
      .def_rw("cap_after_mask", &Options::cap_after_mask)
      .def_rw("causal", &Options::causal)
      .def_rw("query_offset", &Options::query_offset)
      .def_rw("window_left", &Options::window_left)
      .def_rw("window_right", &Options::window_right)
      .def_rw("n_keys", &Options::n_keys)
      .def_rw("alibi_slopes", &Options::alibi_slopes)
      .def_rw("sinks", &Options::sinks)
      .def_prop_rw(
          "stage", [](const Options& options) { return stage_name(options.stage); },
          [](Options& options, std::string_view name) { options.stage = stage_named(name); });
}

}  // namespace

void bind_nw(nb::module_& module) {
  module.attr("KERNELS") = nb::tuple(nb::cast(kernel_names()));
  module.attr("POINT_STATUSES") = point_statuses();
  bind_options(module);
  bind_precision<float>(module);
  bind_precision<double>(module);
  module.def("smoother_scores", &smoother_scores, "x"_a, "y"_a, "kernel"_a, "kernel_shape"_a, "bandwidth"_a,
             "codes"_a, "category_kernels"_a, "n_levels"_a, "lambda_"_a, "threads"_a);
  module.def("estimate_with_categories", &estimate_with_categories, "queries"_a, "keys"_a, "values"_a,
             "kernel"_a, "kernel_shape"_a, "bandwidth"_a, "leave_one_out"_a, "nearest_if_none"_a,
             "relative_error"_a, "codes"_a, "category_kernels"_a, "n_levels"_a, "query_codes"_a, "lambda_"_a,
             "threads"_a);
  module.def("ensemble_loo", &ensemble_loo, "x"_a, "y"_a, "projections"_a, "bandwidths"_a, "weights"_a,
             "kernel"_a, "kernel_shape"_a, "threads"_a);
  module.def("select_bandwidth", &select_bandwidth, "x"_a, "y"_a, "kernel"_a, "kernel_shape"_a, "criterion"_a,
             "per_dimension"_a, "n_starts"_a, "seed"_a, "codes"_a, "category_kernels"_a, "n_levels"_a,
             "threads"_a);
}

}  // namespace headspan::python
