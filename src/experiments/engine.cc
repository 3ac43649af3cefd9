#include "experiments/engine.h"

#include <cmath>

#include "headspan/nw/covariance.h"

namespace headspan::experiments {
namespace {

nw::TensorView<double> one_head(const Matrix& rows) {
  return {rows.data(), {1, 1, rows.rows(), rows.cols()}, {rows.size(), rows.size(), rows.cols(), 1}};
}

}  // namespace

Matrix attend(const Matrix& queries, const Matrix& keys, const Matrix& values, double temperature) {
  Matrix out(queries.rows(), values.cols());
  nw::AttentionInput<double> input;
  input.query = one_head(queries);
  input.key = one_head(keys);
  input.value = one_head(values);
  nw::AttentionOptions options;
  options.scale = 1.0 / temperature;
  nw::AttentionOutput<double> output;
  output.output = {out.data(), {1, 1, out.rows(), out.cols()}, {out.size(), out.size(), out.cols(), 1}};
  nw::attention(input, options, output);
  return out;
}

Matrix softmax_products(const Matrix& effective, const Matrix& keys) {
  const Index h = effective.rows(), d = effective.cols();
  nw::AttentionInput<double> input;
  input.query = {effective.data(), {1, h, 1, d}, {h * d, d, d, 1}};
  input.key = one_head(keys);
  const Matrix values = Matrix::Zero(keys.rows(), 1);  // covariances do not depend on them
  input.value = one_head(values);
  nw::CovarianceOptions options;
  options.attention.scale = 1.0;
  Matrix out(h, h);
  nw::attention_covariance(input, options, {}, out.data());
  return out;
}

Matrix smooth(nw::KernelFunction kernel, double bandwidth, const Matrix& queries, const Matrix& keys,
              const Matrix& values) {
  nw::EstimateOptions options;
  options.kernel.function = kernel;
  options.bandwidth = Vector::Constant(1, bandwidth);
  return nw::estimate<double>(queries, keys, values, options).output;
}

Matrix turned_head(Index k, double angle) {
  Matrix rows = Matrix::Zero(k, 2 * k);
  rows.leftCols(k).diagonal().setConstant(std::cos(angle));
  rows.rightCols(k).diagonal().setConstant(std::sin(angle));
  return rows;
}

std::vector<nw::Head> heads_of(const std::vector<Matrix>& projections, double bandwidth) {
  std::vector<nw::Head> heads;
  for (const Matrix& projection : projections) heads.push_back({projection, Vector::Constant(1, bandwidth)});
  return heads;
}

Matrix kernel_products(const std::vector<nw::Head>& heads, const Matrix& queries, const Matrix& keys) {
  nw::HeadsOptions options;
  options.covariance = true;
  const Matrix values = Matrix::Zero(keys.rows(), 1);
  return nw::estimate_heads<double>(queries, keys, values, heads, options).covariance;
}

}  // namespace headspan::experiments
