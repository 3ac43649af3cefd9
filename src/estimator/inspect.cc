#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimator/error_facts.h"
#include "headspan/estimator/predict.h"
#include "headspan/estimator/table_fit.h"
#include "headspan/subspace/basis.h"
#include "headspan/subspace/overlap.h"

namespace headspan::estimator {
namespace {

constexpr Index kMostRows = 2000;
constexpr double kUnitRoundoff = 0x1p-53;

/// The column of the table that each input that varies belongs to.
std::vector<std::size_t> columns_of_inputs(const TableModel& model) {
  std::vector<std::size_t> all;
  for (std::size_t j = 0; j < model.encoding.columns.size(); ++j)
    all.insert(all.end(), static_cast<std::size_t>(model.encoding.columns[j].width()), j);
  std::vector<std::size_t> used;
  for (const Index input : model.model.inputs) used.push_back(all[static_cast<std::size_t>(input)]);
  return used;
}

std::vector<double> influence_of(const Matrix& projection, const std::vector<std::size_t>& columns,
                                 std::size_t n_columns) {
  std::vector<double> influence(n_columns, 0.0);
  const double total = projection.squaredNorm();
  if (!(total > 0.0)) return influence;
  for (Index j = 0; j < projection.cols(); ++j)
    influence[columns[static_cast<std::size_t>(j)]] += projection.col(j).squaredNorm() / total;
  return influence;
}

/// Training rows in the units of the inputs, at most kMostRows of them.
Matrix training_sample(const Model& model) {
  const Index n = model.keys.rows(), m = std::min(n, kMostRows);
  Matrix x = model.input_center.transpose().replicate(m, 1);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < model.keys.cols(); ++j) {
      const Index input = model.inputs[static_cast<std::size_t>(j)];
      x(i, input) += model.input_scale[input] * model.keys(i * n / m, j);
    }
  return x;
}

/// [parts] cov(part, sum of parts) / var(sum of parts); zero where the prediction does not vary.
Vector shares_of(const Model& model) {
  Matrix parts = predict_parts(model, training_sample(model));
  parts.rowwise() -= parts.colwise().mean().eval();
  const Vector prediction = parts.rowwise().sum();
  const double variance = prediction.squaredNorm();
  if (!(variance > 0.0)) return Vector::Zero(parts.cols());
  return parts.transpose() * prediction / variance;
}

struct SubspacePair {
  double correlation = 0.0, mean = 0.0, variance = 0.0;
};

/// Overlap of two subspaces divided by the geometric mean of their dimensions, and its law for random ones.
SubspacePair compare(const Matrix& a, const Matrix& b) {
  const double scale = std::sqrt(static_cast<double>(a.rows() * b.rows()));
  const subspace::MomentLaw law = subspace::overlap_law(a.rows(), b.rows(), a.cols());
  return {(a * b.transpose()).squaredNorm() / scale, law.mean / scale, law.variance / (scale * scale)};
}

/// Of heads that have a subspace; the overlaps of independent random subspaces are independent in pairs, so
/// their variances add.
ensemble::Diversity diversity_of(const std::vector<Matrix>& frames) {
  const Index n = std::ssize(frames);
  if (n < 2) return {};
  ensemble::CorrelationMatrix correlation{"subspace", Matrix::Identity(n, n)};
  double mean = 0.0, variance = 0.0, dimensions = 0.0;
  for (Index h = 0; h < n; ++h) {
    const Matrix& frame = frames[static_cast<std::size_t>(h)];
    dimensions += static_cast<double>(frame.rows());
    for (Index l = 0; l < h; ++l) {
      const SubspacePair pair = compare(frame, frames[static_cast<std::size_t>(l)]);
      correlation.values(h, l) = correlation.values(l, h) = pair.correlation;
      mean += pair.mean;
      variance += pair.variance;
    }
  }
  const double n_pairs = 0.5 * static_cast<double>(n * (n - 1));
  const ensemble::Baseline baseline{1.0 - mean / n_pairs, std::sqrt(variance) / n_pairs, "closed form"};
  const bool all_alike = std::all_of(frames.begin(), frames.end(), [&](const Matrix& frame) {
    return frame.rows() == frames.front().rows();
  });
  std::optional<double> bound;
  if (all_alike)
    bound = 1.0 - std::max(0.0, dimensions / static_cast<double>(frames.front().cols()) - 1.0) /
                      static_cast<double>(n - 1);
  return ensemble::diversity(correlation, baseline, bound);
}

void add_heads(const TableModel& table_model, InspectionFacts& facts) {
  const Model& model = table_model.model;
  const std::vector<std::size_t> columns = columns_of_inputs(table_model);
  const Vector shares = shares_of(model);
  std::vector<Matrix> frames;
  for (std::size_t e = 0; e < model.ensemble.estimates.size(); ++e) {
    const MultiHead& estimate = model.ensemble.estimates[e];
    for (const FittedHead& fitted : estimate.heads) {
      HeadFacts head;
      head.estimate = static_cast<Index>(e);
      head.weight = estimate.weight * fitted.weight;
      head.projection = fitted.projection;
      head.share = shares[1 + std::ssize(facts.heads)];
      head.influence = influence_of(fitted.projection, columns, facts.columns.size());
      Matrix frame = subspace::orthonormal_basis(fitted.projection, kUnitRoundoff).frame;
      head.rank = frame.rows();
      if (head.rank > 0) frames.push_back(std::move(frame));
      facts.heads.push_back(std::move(head));
    }
  }
  facts.trend_share = shares[0];
  facts.diversity = diversity_of(frames);
}

void average_influence(InspectionFacts& facts) {
  facts.influence.assign(facts.columns.size(), 0.0);
  double total = 0.0;
  for (const HeadFacts& head : facts.heads) total += std::abs(head.share);
  if (!(total > 0.0)) return;
  for (const HeadFacts& head : facts.heads)
    for (std::size_t j = 0; j < facts.influence.size(); ++j)
      facts.influence[j] += std::abs(head.share) / total * head.influence[j];
}

}  // namespace

InspectionFacts inspect(const TableModel& model) {
  InspectionFacts facts;
  facts.target = model.target;
  facts.weight = model.weight;
  facts.written_by = model.written_by;
  facts.encoding = model.encoding.facts;
  for (const EncodedColumn& column : model.encoding.columns) facts.columns.push_back(column.name);
  for (const Index input : model.model.inputs)
    facts.used_inputs.push_back(facts.encoding.inputs[static_cast<std::size_t>(input)]);
  facts.n_rows = model.model.target.size();
  facts.total_weight = model.model.frequency.sum();
  facts.estimates = estimate_facts(model.model);
  add_heads(model, facts);
  average_influence(facts);
  facts.leave_one_out = leave_one_out_error(model.model);
  facts.held_out = held_out_error(model.model);
  return facts;
}

}  // namespace headspan::estimator
