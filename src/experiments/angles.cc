#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "experiments/measure.h"
#include "headspan/experiments/heads.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/gaussian_laws.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/nw/heads.h"
#include "headspan/subspace/frames.h"

namespace headspan::experiments {
namespace {

void check(const AngleOptions& o) {
  require_some("degrees", o.degrees.size());
  for (const double angle : o.degrees) require_within("degrees", angle, 0.0, 90.0);
  require_at_least("n_heads", o.n_heads, 2);
  require_at_least("head_dim", o.head_dim, 1);
  require_at_least("n", o.n, 2);
  require_at_least("n_points", o.n_points, 1);
  require_at_least("n_replicates", o.n_replicates, 3);
  if (o.kernel != nw::KernelFunction::gaussian && o.kernel != nw::KernelFunction::softmax)
    throw ArgumentError(fmt::format("kernel: must be gaussian or softmax, not {}", to_string(o.kernel)));
  require_positive("bandwidth", o.bandwidth);
  require_positive("noise_variance", o.noise_variance);
}

double cosine_of(double degrees) {
  return degrees == 90.0 ? 0.0 : std::cos(degrees * std::numbers::pi / 180.0);
}

/// log(n C_hl / s2) at one query, u and v [k] its coordinates in the two heads. The exponent
/// (a S - 2 c u.v) / (a^2 - c^2) - S / a, a = 1 + b^2 and S = |u|^2 + |v|^2, over one denominator, where it
/// does not cancel.
double log_covariance_at(VectorView u, VectorView v, double cosine, const AngleOptions& o) {
  const double b2 = o.bandwidth * o.bandwidth;
  if (o.kernel == nw::KernelFunction::softmax) return cosine * u.dot(v) / (b2 * b2);
  const double a = 1.0 + b2, det = ((1.0 - cosine) + b2) * (a + cosine);
  const double squares = u.squaredNorm() + v.squaredNorm();
  const double exponent = (cosine * squares - 2.0 * a * u.dot(v)) / a * (cosine / det);
  return static_cast<double>(u.size()) * (std::log(a) - 0.5 * std::log(det)) - 0.5 * exponent;
}

/// Mean of exp(log - top), or of exp(log) - 1 relative to exp(top), which a wide kernel has next to nothing
/// of.
double mean_relative(const std::vector<double>& logs, double top, bool centred) {
  constexpr double kNoCancellation = 50.0;
  double sum = 0.0;
  for (const double log : logs)
    sum += !centred                ? std::exp(log - top)
           : top < kNoCancellation ? std::expm1(log) * std::exp(-top)
                                   : std::exp(log - top) - std::exp(-top);
  return sum / static_cast<double>(logs.size());
}

/// Predicted correlations, raw and centred, from mean covariances of pairs and heads.
void predict_at_points(const Matrix& points, const Matrix& frames, double cosine, const AngleOptions& o,
                       AngleRow& row) {
  std::vector<double> own, cross;
  for (Index p = 0; p < points.rows(); ++p) {
    const Vector seen = frames * points.row(p).transpose();
    for (Index h = 0; h < o.n_heads; ++h) {
      const Vector u = seen.segment(h * o.head_dim, o.head_dim);
      own.push_back(log_covariance_at(u, u, 1.0, o));
      for (Index l = 0; l < h; ++l)
        cross.push_back(log_covariance_at(u, seen.segment(l * o.head_dim, o.head_dim), cosine, o));
    }
  }
  const double top = *std::max_element(own.begin(), own.end());
  predict(row.law, {mean_relative(cross, top, false) / mean_relative(own, top, false),
                    ensemble::Origin::exact, std::nullopt});
  row.centred_rho_predicted = mean_relative(cross, top, true) / mean_relative(own, top, true);
}

/// log E exp(c u v / b^4) of one dimension of a softmax head, u and v normal with correlation c:
/// -log((1 - s c)^2 - s^2) / 2 with s = c / b^4; NaN where there is no mean.
double log_softmax_mean(double cosine, double bandwidth) {
  const double scale = cosine / std::pow(bandwidth, 4), less = scale * (cosine + 1.0);
  return less < 1.0 ? -0.5 * (std::log1p(-less) + std::log1p(scale * (1.0 - cosine))) : std::nan("");
}

void take_limits(double cosine, const AngleOptions& o, AngleRow& row) {
  const double k = static_cast<double>(o.head_dim);
  if (o.kernel == nw::KernelFunction::softmax) {
    const double pair = k * log_softmax_mean(cosine, o.bandwidth),
                 own = k * log_softmax_mean(1.0, o.bandwidth);
    row.rho_limit = std::exp(pair - own);
    row.centred_rho_limit = std::expm1(pair) / std::expm1(own);
    return;
  }
  const GaussianKernelLaw law(o.bandwidth);
  const double log_pair = k * law.log_v(cosine * cosine);
  row.rho_limit = std::exp(log_pair - k * law.log_v(1.0));
  row.centred_rho_limit = law.correlation(log_pair, o.head_dim, o.head_dim);
}

AngleRow measured(const Matrix& points, Index at, const AngleOptions& o) {
  const double cosine = cosine_of(o.degrees[static_cast<std::size_t>(at)]);
  const Matrix frames = subspace::equal_angle_frames(o.n_heads, o.head_dim, cosine);
  std::vector<nw::Head> heads;
  for (Index h = 0; h < o.n_heads; ++h)
    heads.push_back({frames.middleRows(h * o.head_dim, o.head_dim), Vector::Constant(1, o.bandwidth)});
  nw::HeadsOptions options;
  options.kernel.function = o.kernel;
  ErrorSums errors(o.n_replicates, o.n_points), centred = errors;
  parallel_for(o.n_replicates, [&](Index r) {
    RandomStream random(o.seed, stream_of(at + 1, r, 0));
    const Matrix keys = random.normal_matrix(o.n, frames.cols());
    const Matrix noise = std::sqrt(o.noise_variance) * random.normal_matrix(o.n, 1);
    const double mean = noise.mean();
    const auto found = nw::estimate_heads<double>(points, keys, noise, heads, options);
    for (const auto& head : found.heads)
      for (Index p = 0; p < o.n_points; ++p) {
        errors.add(r, p, head.output(p, 0));
        centred.add(r, p, head.output(p, 0) - mean);
      }
  });
  AngleRow row;
  row.law = measured_law(errors);
  row.law.dial = o.degrees[static_cast<std::size_t>(at)];
  row.centred_rho = measured_law(centred).rho;
  predict_at_points(points, frames, cosine, o, row);
  take_limits(cosine, o, row);
  return row;
}

}  // namespace

AngleFacts simulate_angles(const AngleOptions& options, const Progress& progress) {
  check(options);
  AngleFacts facts;
  facts.options = options;
  const Matrix points = RandomStream(options.seed, stream_of(0, 0, 0))
                            .normal_matrix(options.n_points, options.head_dim * (options.n_heads + 1));
  for (std::size_t at = 0; at < options.degrees.size(); ++at) {
    facts.rows.push_back(measured(points, static_cast<Index>(at), options));
    if (progress) progress(at + 1, options.degrees.size());
  }
  const auto [least, most] = ends_of_dial(facts.rows);
  facts.trend = trend_between(least->law.rho, most->law.rho);
  return facts;
}

}  // namespace headspan::experiments
