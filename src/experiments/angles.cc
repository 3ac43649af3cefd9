#include <fmt/format.h>

#include <cmath>
#include <numbers>

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

/// n C_hl / s2 at one query, u and v [k] its coordinates in the two heads.
double covariance_at(VectorView u, VectorView v, double cosine, const AngleOptions& o) {
  const double b2 = o.bandwidth * o.bandwidth;
  if (o.kernel == nw::KernelFunction::softmax) return std::exp(cosine * u.dot(v) / (b2 * b2));
  const double a = 1.0 + b2, det = a * a - cosine * cosine;
  const double squares = u.squaredNorm() + v.squaredNorm();
  const double exponent = (a * squares - 2.0 * cosine * u.dot(v)) / det - squares / a;
  return std::exp(static_cast<double>(u.size()) * (std::log(a) - 0.5 * std::log(det)) - 0.5 * exponent);
}

/// Predicted correlations, raw and centred, from mean covariances of pairs and heads.
void predict_at_points(const Matrix& points, const Matrix& frames, double cosine, const AngleOptions& o,
                       AngleRow& row) {
  double own = 0.0, cross = 0.0;
  const double heads = static_cast<double>(o.n_heads), m = static_cast<double>(points.rows());
  for (Index p = 0; p < points.rows(); ++p) {
    const Vector seen = frames * points.row(p).transpose();
    for (Index h = 0; h < o.n_heads; ++h) {
      const Vector u = seen.segment(h * o.head_dim, o.head_dim);
      own += covariance_at(u, u, 1.0, o) / (m * heads);
      for (Index l = 0; l < h; ++l)
        cross += covariance_at(u, seen.segment(l * o.head_dim, o.head_dim), cosine, o) /
                 (m * heads * (heads - 1.0) / 2.0);
    }
  }
  predict(row.law, cross / own);
  row.centred_rho_predicted = (cross - 1.0) / (own - 1.0);
}

/// log E exp(c u v / b^4) of one dimension of a softmax head, u and v normal with correlation c; NaN where
/// there is no mean.
double log_softmax_mean(double cosine, double bandwidth) {
  const double scale = cosine / std::pow(bandwidth, 4), rest = 1.0 - scale * cosine;
  return rest > scale ? -0.5 * std::log(rest * rest - scale * scale) : std::nan("");
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
