#include "audit/sources.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headspan/numeric/gaussian_laws.h"

namespace headspan::audit {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// P_ab / sqrt(P_aa P_bb), heads with P_aa = 0 left out.
SourceMatrix normalised(Source name, const Matrix& products) {
  SourceMatrix source;
  source.source = name;
  source.values = Matrix::Constant(products.rows(), products.cols(), kMissing);
  for (int a = 0; a < products.rows(); ++a) {
    if (!(products(a, a) > 0.0)) {
      source.left_out.push_back(a);
      continue;
    }
    source.values(a, a) = 1.0;
    for (int b = 0; b < a; ++b) {
      if (!(products(b, b) > 0.0)) continue;
      // A correlation: rounding must not carry it past 1.
      const double r = products(a, b) / std::sqrt(products(a, a) * products(b, b));
      source.values(a, b) = source.values(b, a) = std::clamp(r, -1.0, 1.0);
    }
  }
  return source;
}

/// 1 - max(0, (capacity - 1)/(H - 1)): what H subspaces of `capacity` times the space's dimension can reach
/// at best.
double frame_bound(double capacity, std::size_t n_heads) {
  return 1.0 - std::max(0.0, (capacity - 1.0) / static_cast<double>(n_heads - 1));
}

double pair_count(std::size_t n) { return 0.5 * static_cast<double>(n) * static_cast<double>(n - 1); }

template <class Pair>
void for_pairs(const std::vector<int>& heads, const Pair& pair) {
  for (std::size_t i = 0; i < heads.size(); ++i)
    for (std::size_t j = i + 1; j < heads.size(); ++j) pair(heads[i], heads[j]);
}

SourceMatrix subspace_source(Source name, const Matrix& overlaps, const std::vector<int>& rank, Index width) {
  SourceMatrix source = normalised(name, overlaps);
  source.rank = rank;
  source.width = width;
  source.p_method = "beta law of the overlap of random subspaces, matched to mean and variance";
  source.compare = [rank, width](int a, int b, double value) {
    const int ka = rank[static_cast<std::size_t>(a)], kb = rank[static_cast<std::size_t>(b)];
    return subspace::compare_beta(value * std::sqrt(static_cast<double>(ka) * kb),
                                  subspace::overlap_law(ka, kb, width));
  };
  const std::vector<int> heads = heads_with_value(source);
  if (heads.size() < 2) return source;
  double mean = 0.0, variance = 0.0, dimensions = 0.0;
  for_pairs(heads, [&](int a, int b) {
    const int ka = rank[static_cast<std::size_t>(a)], kb = rank[static_cast<std::size_t>(b)];
    const subspace::MomentLaw law = subspace::overlap_law(ka, kb, width);
    mean += law.mean / std::sqrt(static_cast<double>(ka) * kb);
    variance += law.variance / (static_cast<double>(ka) * kb);
  });
  for (const int h : heads) dimensions += rank[static_cast<std::size_t>(h)];
  const double pairs = pair_count(heads.size());
  source.baseline = ensemble::Baseline{1.0 - mean / pairs, std::sqrt(variance) / pairs,
                                       "closed form: pairs of random subspaces are independent"};
  source.bound = frame_bound(dimensions / static_cast<double>(width), heads.size());
  return source;
}

SourceMatrix energy_source(Source name, const Matrix& products, Index k, Index width, Baselines& baselines) {
  SourceMatrix source = normalised(name, products);
  const double mean = static_cast<double>(k) / static_cast<double>(width + k + 1);
  const subspace::PairMoments& sampled = baselines.energy(k, width);
  const subspace::MomentLaw law{mean, sampled.variance, 0.0, 1.0};
  source.p_method = "beta law matched to the closed-form mean and the variance of " + baselines.method();
  source.compare = [law](int, int, double value) { return subspace::compare_beta(value, law); };
  const std::size_t n = heads_with_value(source).size();
  if (n < 2) return source;
  const double heads = static_cast<double>(n);
  const double variance = sampled.variance / pair_count(n) +
                          4.0 * (heads - 2.0) / (heads * (heads - 1.0)) * sampled.shared_covariance;
  source.baseline = ensemble::Baseline{1.0 - mean, std::sqrt(variance), baselines.method()};
  source.bound = frame_bound(heads / static_cast<double>(width), n);
  return source;
}

/// Null standard deviation of the correlation of two composed maps [theory section 6].
double map_sd(Index k, Index d_left, Index d_right, bool shared) {
  const double left = static_cast<double>(d_left), right = static_cast<double>(d_right);
  const double separate = 1.0 / (left * right);
  return std::sqrt(shared ? 1.0 / (static_cast<double>(k) * left) + separate : separate);
}

/// Baseline of a source of mean zero whose pairs are uncorrelated, with one variance for pairs that share a
/// key/value head and another for those that do not.
ensemble::Baseline centred_baseline(const std::vector<int>& heads, Index group, double separate,
                                    double shared, const std::string& method) {
  double variance = 0.0;
  for_pairs(heads, [&](int a, int b) { variance += a / group == b / group ? shared : separate; });
  return {1.0, std::sqrt(variance) / pair_count(heads.size()), method};
}

SourceMatrix score_source(const LayerProducts& layer, Baselines& baselines) {
  SourceMatrix source = normalised(Source::score, layer.score);
  const Index k = layer.head_dim, left = layer.query_freedom, right = layer.key_freedom, group = layer.group;
  source.p_method = "normal law with the closed-form standard deviation";
  source.compare = [=](int a, int b, double value) {
    return subspace::compare_normal(value, map_sd(k, left, right, a / group == b / group));
  };
  const std::vector<int> heads = heads_with_value(source);
  if (heads.size() < 2) return source;
  const subspace::MapVariances& sampled = baselines.map(k, left, right);
  source.baseline = centred_baseline(heads, group, sampled.separate, sampled.shared, baselines.method());
  source.bound = static_cast<double>(heads.size()) / static_cast<double>(heads.size() - 1);
  return source;
}

SourceMatrix head_source(const LayerProducts& layer, const SourceMatrix& score, Baselines& baselines) {
  SourceMatrix source = normalised(Source::head, layer.output_value);
  for (const int h : score.left_out)
    if (!std::binary_search(source.left_out.begin(), source.left_out.end(), h))
      source.left_out.insert(std::upper_bound(source.left_out.begin(), source.left_out.end(), h), h);
  source.values = source.values.cwiseProduct(score.values);
  const Index k = layer.head_dim, v = layer.value_dim, group = layer.group;
  const Index query = layer.query_freedom, key = layer.key_freedom, out = layer.output_width;
  source.p_method = "law of a product of two normals with the closed-form standard deviations";
  source.compare = [=](int a, int b, double value) {
    const bool shared = a / group == b / group;
    return subspace::compare_normal_product(value, map_sd(k, query, key, shared),
                                            map_sd(v, out, key, shared));
  };
  const std::vector<int> heads = heads_with_value(source);
  if (heads.size() < 2) return source;
  const subspace::MapVariances& scores = baselines.map(k, query, key);
  const subspace::MapVariances& values = baselines.map(v, out, key);
  source.baseline = centred_baseline(heads, group, scores.separate * values.separate,
                                     scores.shared * values.shared, baselines.method());
  source.bound = static_cast<double>(heads.size()) / static_cast<double>(heads.size() - 1);
  return source;
}

Matrix kernel_values(const LayerProducts& layer, const GaussianKernelLaw& law) {
  const Index n = layer.kernel_log.rows();
  Matrix values = Matrix::Zero(n, n);
  for (Index a = 0; a < n; ++a)
    for (Index b = 0; b <= a; ++b) {
      const int ka = layer.key_rank[static_cast<std::size_t>(a)],
                kb = layer.key_rank[static_cast<std::size_t>(b)];
      if (ka == 0 || kb == 0) continue;
      values(a, b) = values(b, a) = a == b ? 1.0 : law.correlation(layer.kernel_log(a, b), ka, kb);
    }
  return values;
}

SourceMatrix kernel_source(const LayerProducts& layer, Baselines& baselines) {
  const GaussianKernelLaw law(layer.bandwidth);
  SourceMatrix source = normalised(Source::kernel, kernel_values(layer, law));
  const Index k = std::min(layer.head_dim, layer.key_width);
  const subspace::PairMoments& sampled = baselines.kernel(k, layer.key_width, layer.bandwidth);
  const subspace::MomentLaw null_law{sampled.mean, sampled.variance, 0.0, 1.0};
  source.p_method = "beta law matched to mean and variance of " + baselines.method();
  source.compare = [null_law](int, int, double value) { return subspace::compare_beta(value, null_law); };
  const std::vector<int> heads = heads_with_value(source);
  if (heads.size() < 2) return source;
  source.baseline = ensemble::Baseline{
      1.0 - sampled.mean, std::sqrt(sampled.variance / pair_count(heads.size())), baselines.method()};
  double dimensions = 0.0;
  for (const int h : heads) dimensions += layer.key_rank[static_cast<std::size_t>(h)];
  const double overlap = 1.0 - frame_bound(dimensions / static_cast<double>(layer.key_width), heads.size());
  source.bound = 1.0 - law.correlation(static_cast<double>(k) * law.log_v(overlap), k, k);
  return source;
}

void give_reason(SourceMatrix& source) {
  const std::size_t n = heads_with_value(source).size();
  if (n == 0)
    source.reason = "no head has a value";
  else if (n == 1)
    source.reason = "one head: nothing to compare it with";
}

void remove_values(SourceMatrix& source, const std::string& reason) {
  source.values.resize(0, 0);
  source.left_out.clear();
  source.baseline.reset();
  source.bound.reset();
  source.reason = reason;
}

}  // namespace

std::vector<int> heads_with_value(const SourceMatrix& source) {
  std::vector<int> heads;
  for (int h = 0; h < source.values.rows(); ++h)
    if (!std::binary_search(source.left_out.begin(), source.left_out.end(), h)) heads.push_back(h);
  return heads;
}

std::vector<SourceMatrix> source_matrices(const LayerProducts& layer, Baselines& baselines) {
  const Index k = layer.head_dim, v = layer.value_dim;
  std::vector<SourceMatrix> sources;
  sources.push_back(
      subspace_source(Source::query_subspace, layer.query_overlap, layer.query_rank, layer.query_width));
  sources.push_back(
      subspace_source(Source::key_subspace, layer.key_overlap, layer.key_rank, layer.key_width));
  sources.push_back(
      subspace_source(Source::value_subspace, layer.value_overlap, layer.value_rank, layer.key_width));
  sources.push_back(
      subspace_source(Source::output_subspace, layer.output_overlap, layer.output_rank, layer.output_width));
  sources.push_back(energy_source(Source::query_energy, layer.query_energy, k, layer.query_width, baselines));
  sources.push_back(energy_source(Source::key_energy, layer.key_energy, k, layer.key_width, baselines));
  sources.push_back(energy_source(Source::value_energy, layer.value_energy, v, layer.key_width, baselines));
  sources.push_back(
      energy_source(Source::output_energy, layer.output_energy, v, layer.output_width, baselines));
  sources.push_back(score_source(layer, baselines));
  sources.push_back(head_source(layer, sources.back(), baselines));
  sources.push_back(kernel_source(layer, baselines));
  for (SourceMatrix& source : sources) {
    const bool sees_input = source.width > 0
                                ? source.source != Source::output_subspace
                                : source.source == Source::score || source.source == Source::head ||
                                      source.source == Source::kernel;
    if (sees_input && !layer.input_reason.empty())
      remove_values(source, layer.input_reason);
    else
      give_reason(source);
  }
  return sources;
}

}  // namespace headspan::audit
