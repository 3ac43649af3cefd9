#include "audit/layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>

#include "audit/comparison.h"
#include "audit/projection.h"
#include "audit/sources.h"
#include "headspan/audit/audit.h"
#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"
#include "headspan/subspace/pair_products.h"
#include "headspan/subspace/principal_angles.h"

namespace headspan::audit {
namespace {

/// A layer on its way: its weights, overwritten by frames once the products of the weights are taken.
struct Work {
  LayerHeads heads;
  ProjectionState query, key, value, output;
  LayerProducts products;
  AngleTable angles;
};

struct Part {
  const char* role;
  HeadWeights* weights;
  ProjectionState* state;
  Matrix* overlap;
  std::vector<int>* rank;
  Source source;
};

std::vector<Part> parts(Work& work) {
  LayerHeads& heads = work.heads;
  LayerProducts& products = work.products;
  return {{"query", &heads.query, &work.query, &products.query_overlap, &products.query_rank,
           Source::query_subspace},
          {"key", &heads.key, &work.key, &products.key_overlap, &products.key_rank, Source::key_subspace},
          {"value", &heads.value, &work.value, &products.value_overlap, &products.value_rank,
           Source::value_subspace},
          {"output", &heads.output, &work.output, &products.output_overlap, &products.output_rank,
           Source::output_subspace}};
}

void set_aside(Work& work) {
  LayerHeads& heads = work.heads;
  work.query = set_aside_unusable(heads.query, &heads.query_gain);
  work.key = set_aside_unusable(heads.key, &heads.key_gain);
  work.value = set_aside_unusable(heads.value, nullptr);
  work.output = set_aside_unusable(heads.output, nullptr);
}

std::optional<double> map_norm(const Matrix& products, Index h, int exponent) {
  if (!(products(h, h) > 0.0)) return std::nullopt;
  return std::ldexp(std::sqrt(products(h, h)), exponent);
}

int exponent(const ProjectionState& left, Index i, const ProjectionState& right, Index j) {
  return left.exponent[static_cast<std::size_t>(i)] + right.exponent[static_cast<std::size_t>(j)];
}

/// Norms of the composed maps under the identity covariance; an unusable factor gives none, a dead one 0
/// exactly.
void add_norms(const Work& work, const subspace::MapProducts& maps, LayerFacts& facts) {
  const Index group = work.heads.group();
  for (HeadFacts& head : facts.heads) {
    const Index h = head.head, g = h / group;
    head.qk_norm = map_norm(maps.score, h, exponent(work.query, h, work.key, g));
    head.ov_norm = map_norm(maps.output_value, h, exponent(work.output, h, work.value, g));
  }
}

void take_weight_products(Work& work, const InputCovariance& input, LayerFacts& facts) {
  LayerProducts& products = work.products;
  subspace::MapProducts maps;
  subspace::WeightProducts weights = subspace::weight_products(work.heads, &maps);
  products.query_energy = std::move(weights.query_energy);
  products.key_energy = std::move(weights.key_energy);
  products.value_energy = std::move(weights.value_energy);
  products.output_energy = std::move(weights.output_energy);
  add_norms(work, maps, facts);
  if (input.factor.size() > 0 && products.input_reason.empty()) {
    for (HeadWeights* part : {&work.heads.query, &work.heads.key, &work.heads.value})
      transform_input(*part, input.factor);
    maps = subspace::map_products(work.heads);
  }
  products.score = std::move(maps.score);
  products.output_value = std::move(maps.output_value);
}

void take_overlaps(Work& work, const AuditOptions& options, LayerFacts& facts) {
  LayerProducts& products = work.products;
  const GaussianKernelLaw law(products.bandwidth);
  products.kernel_log = Matrix::Zero(work.heads.key.n_heads, work.heads.key.n_heads);
  for (const Part& part : parts(work)) {
    orthonormalise(*part.weights, *part.state);
    facts.rank_tolerance[part.role] = part.state->tolerance;
    for (const std::optional<int> rank : part.state->rank) part.rank->push_back(rank.value_or(0));
    if (options.all_angles) work.angles.prepare(part.source, part.weights->n_heads);
    const bool is_key = part.source == Source::key_subspace;
    const auto visit = [&](Index a, Index b, MatrixView cross) {
      const int ka = (*part.rank)[static_cast<std::size_t>(a)],
                kb = (*part.rank)[static_cast<std::size_t>(b)];
      if (ka == 0 || kb == 0 || a == b) return;
      if (is_key)
        products.kernel_log(a, b) = products.kernel_log(b, a) =
            law.log_v_product(cross.topLeftCorner(ka, kb));
      if (options.all_angles)
        work.angles.set(
            part.source, a, b,
            subspace::principal_angles(part.weights->head(a).topRows(ka), part.weights->head(b).topRows(kb),
                                       cross.topLeftCorner(ka, kb)));
    };
    *part.overlap =
        subspace::overlap_products(part.weights->weight, part.weights->head_dim,
                                   is_key || options.all_angles ? subspace::CrossVisitor(visit) : nullptr);
  }
}

void describe_layer(const Work& work, const InputCovariance& input, const AuditOptions& options,
                    const LayerFacts& facts, LayerProducts& products) {
  const LayerHeads& heads = work.heads;
  products.head_dim = heads.query.head_dim;
  products.value_dim = heads.value.head_dim;
  products.group = heads.group();
  products.query_width = heads.query.width();
  products.key_width = heads.key.width();
  products.output_width = heads.output.width();
  products.query_freedom = products.query_width;
  products.key_freedom = products.key_width;
  products.bandwidth = options.bandwidth.value_or(std::pow(static_cast<double>(products.head_dim), 0.25));
  if (input.factor.size() == 0) return;
  products.query_freedom = products.key_freedom = input.freedom;
  if (facts.attention == "cross")
    products.input_reason = "one input covariance cannot stand for the two inputs of cross-attention";
  else if (products.query_width != input.factor.rows() || products.key_width != input.factor.rows())
    products.input_reason = fmt::format("the covariance is {0} x {0}, but this layer reads {1} inputs",
                                        input.factor.rows(), products.query_width);
}

struct RoleState {
  const char* role;
  const ProjectionState* state;
  Index head;
};

/// The worst of the four projections that a query head uses, and all of them in words.
void judge_head(const std::array<RoleState, 4>& roles, Index group, HeadFacts& head) {
  std::vector<std::string> reasons;
  for (const RoleState& role : roles) {
    const std::size_t i = static_cast<std::size_t>(role.head);
    const Status status = role.state->status[i];
    if (status == Status::ok) continue;
    const bool stored = role.state == roles[1].state || role.state == roles[2].state;
    std::string name = role.role;
    if (stored && group > 1) name += fmt::format(" head {}", role.head);
    if (status == Status::non_finite)
      reasons.push_back(name + " has NaN or infinite weights");
    else if (status == Status::dead)
      reasons.push_back(name + " is all zero");
    else
      reasons.push_back(
          fmt::format("{} has rank {} of {}", name, *role.state->rank[i], role.state->full_rank));
    const auto severity = [](Status s) {
      return s == Status::non_finite ? 3 : s == Status::dead ? 2 : s == Status::ok ? 0 : 1;
    };
    if (severity(status) > severity(head.status)) head.status = status;
  }
  head.reason = fmt::format("{}", fmt::join(reasons, "; "));
}

void judge_heads(const Work& work, LayerFacts& facts) {
  const Index group = work.heads.group();
  for (HeadFacts& head : facts.heads) {
    const Index h = head.head, g = h / group;
    const std::size_t i = static_cast<std::size_t>(h), j = static_cast<std::size_t>(g);
    head.rank_query = work.query.rank[i];
    head.rank_key = work.key.rank[j];
    head.rank_value = work.value.rank[j];
    head.rank_output = work.output.rank[i];
    judge_head({RoleState{"query", &work.query, h}, RoleState{"key", &work.key, g},
                RoleState{"value", &work.value, g}, RoleState{"output", &work.output, h}},
               group, head);
  }
}

void judge_layer(const LayerProducts& products, LayerFacts& facts) {
  std::map<Status, int> count;
  for (const HeadFacts& head : facts.heads)
    if (head.status != Status::ok) ++count[head.status];
  std::vector<std::string> reasons;
  reasons.reserve(count.size() + 1);
  for (const auto& [status, n] : count)
    reasons.push_back(fmt::format("{} of {} heads {}", n, facts.heads.size(), to_string(status)));
  if (!products.input_reason.empty()) reasons.push_back(products.input_reason);
  if (reasons.empty()) return;
  facts.reason = fmt::format("{}", fmt::join(reasons, "; "));
  const bool all_alike =
      count.size() == 1 && static_cast<std::size_t>(count.begin()->second) == facts.heads.size();
  facts.status = all_alike ? count.begin()->first : Status::partial;
}

/// Angles of the pairs to be shown that were not taken in the all-pairs stage.
void add_angles(Work& work, LayerFacts& facts, std::size_t n_most_redundant) {
  for (const Part& part : parts(work)) {
    const std::vector<PairFacts*> shown = pairs_to_show(facts, part.source, n_most_redundant);
    parallel_for(static_cast<Index>(shown.size()), [&](Index i) {
      PairFacts& pair = *shown[static_cast<std::size_t>(i)];
      const int ka = (*part.rank)[static_cast<std::size_t>(pair.a)],
                kb = (*part.rank)[static_cast<std::size_t>(pair.b)];
      const Vector angles = subspace::principal_angles(part.weights->head(pair.a).topRows(ka),
                                                       part.weights->head(pair.b).topRows(kb));
      pair.angles.emplace(angles.begin(), angles.end());
    });
  }
}

}  // namespace

InputCovariance factor_covariance(MatrixView covariance) {
  if (covariance.rows() != covariance.cols() || covariance.rows() == 0)
    throw CovarianceError(
        fmt::format("covariance is {} x {}; it must be square", covariance.rows(), covariance.cols()));
  if (!covariance.allFinite()) throw CovarianceError("covariance has NaN or infinite entries");
  const double size = covariance.cwiseAbs().maxCoeff();
  if (size == 0.0) throw CovarianceError("covariance is zero, so no input varies");
  if ((covariance - covariance.transpose()).cwiseAbs().maxCoeff() > 1e-9 * size)
    throw CovarianceError("covariance is not symmetric; average it with its transpose");
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(covariance);
  const Vector& values = eigen.eigenvalues();
  if (!(values.maxCoeff() > 0.0) || values.minCoeff() < -1e-9 * values.maxCoeff())
    throw CovarianceError(
        fmt::format("covariance is not positive semi-definite: smallest eigenvalue {:g}, largest {:g}",
                    values.minCoeff(), values.maxCoeff()));
  const Vector kept = values.cwiseMax(0.0);
  InputCovariance input;
  input.factor = eigen.eigenvectors() * kept.cwiseSqrt().asDiagonal();
  input.freedom = std::max<Index>(1, std::lround(kept.sum() * kept.sum() / kept.squaredNorm()));
  return input;
}

void audit_heads(LayerHeads heads, const InputCovariance& input, const AuditOptions& options,
                 Baselines& baselines, LayerFacts& facts) {
  check_shapes(heads);
  Work work;
  work.heads = std::move(heads);
  for (int h = 0; h < work.heads.query.n_heads; ++h) {
    facts.heads.emplace_back();
    facts.heads.back().head = h;
  }
  set_aside(work);
  describe_layer(work, input, options, facts, work.products);
  take_weight_products(work, input, facts);
  take_overlaps(work, options, facts);
  judge_heads(work, facts);
  judge_layer(work.products, facts);
  for (SourceMatrix& source : source_matrices(work.products, baselines))
    add_source(std::move(source), options, work.angles, facts);
  if (!options.all_angles) add_angles(work, facts, static_cast<std::size_t>(options.n_pairs));
}

LayerFacts audit_layer(LayerHeads heads, const AuditOptions& options) {
  const ThreadLimit limit(options.n_threads);
  Baselines baselines({options.seed, options.n_samples});
  const InputCovariance input =
      options.covariance.size() > 0 ? factor_covariance(options.covariance) : InputCovariance{};
  LayerFacts facts;
  facts.attention = "self";
  facts.n_heads = heads.query.n_heads;
  facts.n_kv_heads = heads.key.n_heads;
  facts.head_dim = heads.query.head_dim;
  facts.value_dim = heads.value.head_dim;
  audit_heads(std::move(heads), input, options, baselines, facts);
  return facts;
}

}  // namespace headspan::audit
