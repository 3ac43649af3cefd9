#include "headspan/subspace/block_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>

#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::subspace {
namespace {

// Energies below this share of their mean say nothing more: a dead input or row must not rule its whole
// profile.
constexpr double kEnergyFloor = 1e-3;
// Sums of squares this small, of features of order one, are rounding.
constexpr double kNoVariation = 1e-12;
// Prior weight of an order outside the candidates: keys and values exchanged.
constexpr double kExchangedPrior = 1e-3;
constexpr double kSmallestP = 1e-300;

std::vector<Index> sequence(Index first, Index count) {
  std::vector<Index> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

void append(std::vector<Index>& to, Index first, Index count) {
  for (Index i = 0; i < count; ++i) to.push_back(first + i);
}

bool allows(const std::string& code, Index n_heads, Index n_kv_heads) {
  if (code == "S3" || code == "IG") return true;
  if (code == "I3") return n_heads == n_kv_heads;
  if (code == "QVK4") return n_heads == n_kv_heads && n_heads % 4 == 0;
  throw ArgumentError(fmt::format("block order: unknown code '{}'; known are S3, I3, IG, QVK4", code));
}

void check_counts(Index n_heads, Index n_kv_heads) {
  if (n_heads < 1 || n_kv_heads < 1 || n_heads % n_kv_heads != 0)
    throw ArgumentError(fmt::format(
        "block order: n_kv_heads must be positive and divide n_heads, not {} and {}", n_kv_heads, n_heads));
}

bool same_order(const RoleCandidate& a, const RoleCandidate& b) {
  return a.query == b.query && a.key == b.key && a.value == b.value;
}

// A matrix made of blocks of head_dim rows, and the factor it is read with.
struct BlockSource {
  MatrixView matrix;
  double scale = 1.0;
  Index head_dim = 0;
};

// One feature of every block, of length 1, or 0 where the block has none.
struct FeatureRows {
  Matrix gram;     // [n, head_dim^2] W W^T without its trace part
  Matrix rows;     // [n, head_dim] logarithmic row energies
  Matrix columns;  // [n, width] logarithmic column energies
  Vector norms;    // [n] logarithmic energies
};

void make_unit(Eigen::Ref<Eigen::RowVectorXd> row) {
  const double norm = row.norm();
  if (norm > 0.0) row /= norm;
}

// Logarithmic profile of energies, centred; zero for a dead block.
void write_profile(const Eigen::Ref<const Eigen::RowVectorXd>& energies, Eigen::Ref<Eigen::RowVectorXd> out) {
  const double mean = energies.mean();
  if (!(mean > 0.0)) {
    out.setZero();
    return;
  }
  out = (energies.array() / mean + kEnergyFloor).log();
  out.array() -= out.mean();
  make_unit(out);
}

// A dead block takes the mean of the others: it says nothing about its role.
Vector log_energies(const Vector& energies) {
  const Eigen::Index live = (energies.array() > 0.0).count();
  Vector logs = (energies.array() > 0.0).select(energies.array().log(), 0.0);
  if (live > 0) logs = (energies.array() > 0.0).select(logs, logs.sum() / static_cast<double>(live));
  return logs;
}

FeatureRows block_features(const BlockSource& source) {
  const Index d = source.head_dim, n = source.matrix.rows() / d;
  FeatureRows out{Matrix(n, d * d), Matrix(n, d), Matrix(n, source.matrix.cols()), Vector(n)};
  Vector energies(n);
  parallel_for(n, [&](Index i) {
    const Matrix block = source.scale * source.matrix.middleRows(i * d, d);
    Matrix gram(d, d);
    multiply_transposed(block, block, gram);
    energies(i) = gram.trace();
    write_profile(gram.diagonal().transpose(), out.rows.row(i));
    Eigen::RowVectorXd columns =
        block.row(0).cwiseAbs2();  // row by row: columns of a row-major block are far apart
    for (Index row = 1; row < d; ++row) columns += block.row(row).cwiseAbs2();
    write_profile(columns, out.columns.row(i));
    gram.diagonal().array() -= energies(i) / static_cast<double>(d);
    out.gram.row(i) = gram.reshaped<Eigen::RowMajor>().transpose();
    make_unit(out.gram.row(i));
  });
  out.norms = log_energies(energies);
  return out;
}

Matrix products(MatrixView a, MatrixView b) {
  Matrix out(a.rows(), b.rows());
  multiply_transposed(a, b, out);
  return out;
}

// Inner products of one pairing feature among the blocks, among the output heads, and between the two.
struct PairingProducts {
  Matrix blocks, outputs, between;
};

struct Evidence {
  std::vector<PairingProducts> pairings;  // Gram matrices, row energies
  std::vector<Matrix> role_kernels;       // [n, n] norms and column energies, row energies; centred, trace 1
  bool has_output = false;
};

// Centred by rows and columns.
Matrix centred(const Matrix& m) {
  const Vector row_means = m.rowwise().mean();
  const Eigen::RowVectorXd column_means = m.colwise().mean();
  return ((m.colwise() - row_means).rowwise() - column_means).array() + m.mean();
}

// Mean of the kernels, each centred and scaled to trace 1; those without variation are left out. Empty if all
// are.
Matrix mean_kernel(std::initializer_list<Matrix> kernels) {
  Matrix sum;
  int used = 0;
  for (const Matrix& kernel : kernels) {
    Matrix scaled = centred(kernel);
    if (!(scaled.trace() > kNoVariation)) continue;
    scaled /= scaled.trace();
    sum = used++ == 0 ? scaled : Matrix(sum + scaled);
  }
  return used == 0 ? sum : Matrix(sum / used);
}

Evidence gather_evidence(const BlockSource& fused, const BlockSource& output) {
  const FeatureRows blocks = block_features(fused);
  Evidence out;
  out.has_output = output.matrix.size() > 0;
  const FeatureRows heads = out.has_output ? block_features(output) : FeatureRows{};
  const auto pairing = [&](const Matrix& a, const Matrix& b) {
    PairingProducts p{products(a, a), {}, {}};
    if (out.has_output) p.outputs = products(b, b), p.between = products(a, b);
    return p;
  };
  out.pairings = {pairing(blocks.gram, heads.gram), pairing(blocks.rows, heads.rows)};
  out.role_kernels = {mean_kernel({products(blocks.columns, blocks.columns),
                                   Matrix(blocks.norms * blocks.norms.transpose())}),
                      mean_kernel({out.pairings[1].blocks})};
  return out;
}

double over_norms(double product, double square_a, double square_b) {
  const double norms = std::sqrt(square_a * square_b);
  return norms > 0.0 ? product / norms : 0.0;
}

// Correlations [g, g] of the sum over each group of `many` with each of `single`. `among` are the inner
// products of what `many` indexes, `own` those of `single`, `cross` the products [many, single].
Matrix group_correlations(const Matrix& among, const std::vector<Index>& many, const Matrix& own,
                          const std::vector<Index>& single, const Matrix& cross) {
  const Index g = static_cast<Index>(single.size()), r = static_cast<Index>(many.size()) / g;
  const Matrix sums = among(many, many), pairs = cross(many, single);
  Matrix out(g, g);
  for (Index a = 0; a < g; ++a)
    for (Index b = 0; b < g; ++b) {
      const Index block = single[static_cast<std::size_t>(b)];
      out(a, b) = over_norms(pairs.block(a * r, b, r, 1).sum(), sums.block(a * r, a * r, r, r).sum(),
                             own(block, block));
    }
  return out;
}

// |z| of the diagonal sum against random pairings: mean zero after centring, variance |D|_F^2 / (g - 1)
// [hoeffding1951].
double pairing_z(const Matrix& correlations) {
  const Matrix d = centred(correlations);
  const double square = d.squaredNorm();
  if (!(square > kNoVariation)) return 0.0;
  return std::abs(d.trace()) / std::sqrt(square / static_cast<double>(d.rows() - 1));
}

double negative_log(double p) { return -std::log(std::clamp(p, kSmallestP, 1.0)); }

double log_factorial(std::size_t n) { return std::lgamma(static_cast<double>(n) + 1.0); }

// -ln p of the strongest of the features, which are as many tests; never beyond what n! pairings can tell.
double pairing_evidence(const std::vector<double>& z, std::size_t n_groups) {
  const double p = std::erfc(*std::max_element(z.begin(), z.end()) / std::numbers::sqrt2);
  const double tests = std::log(static_cast<double>(z.size()));
  return std::clamp(negative_log(p) - tests, 0.0, log_factorial(n_groups));
}

// Projection on what the role means of the blocks differ by [n, n].
Matrix role_projection(const RoleCandidate& order, Index n) {
  Matrix out = Matrix::Constant(n, n, -1.0 / static_cast<double>(n));
  for (const auto* role : {&order.query, &order.key, &order.value})
    out(*role, *role).array() += 1.0 / static_cast<double>(role->size());
  return out;
}

// Variance of tr(A P B P^T) over permutations P, for symmetric A, B [n, n] whose rows sum to zero, n > 3
// [kazi-aoual1995].
double permutation_variance(const Matrix& a, const Matrix& b) {
  const double n = static_cast<double>(a.rows());
  const auto spread = [n](const Matrix& m) { return (n - 1.0) * m.squaredNorm() - m.trace() * m.trace(); };
  const auto diagonal = [n](const Matrix& m) {
    return n * (n + 1.0) * m.diagonal().squaredNorm() -
           (n - 1.0) * (m.trace() * m.trace() + 2.0 * m.squaredNorm());
  };
  return 2.0 * spread(a) * spread(b) / ((n - 1.0) * (n - 1.0) * (n + 1.0) * (n - 2.0)) +
         diagonal(a) * diagonal(b) / ((n + 1.0) * n * (n - 1.0) * (n - 2.0) * (n - 3.0));
}

// -ln P(between-role share of a kernel's sum of squares at least as large), the share beta with its
// permutation moments.
double share_evidence(const Matrix& kernel, const Matrix& projection) {
  if (kernel.rows() < 4) return 0.0;
  const double mean = projection.trace() / static_cast<double>(kernel.rows() - 1);
  const double variance = permutation_variance(kernel, projection);
  if (!(variance > kNoVariation)) return 0.0;
  const double total = mean * (1.0 - mean) / variance - 1.0;
  if (!(total > 0.0)) return 0.0;
  const double share = std::clamp(kernel.cwiseProduct(projection).sum(), 0.0, 1.0);
  return negative_log(boost::math::ibetac(mean * total, (1.0 - mean) * total, share));
}

double role_evidence(const Evidence& evidence, const RoleCandidate& order) {
  const std::size_t q = order.query.size(), k = order.key.size();
  const Matrix projection = role_projection(order, static_cast<Index>(q + 2 * k));
  double best = 0.0;
  for (const Matrix& kernel : evidence.role_kernels)
    best = std::max(best, share_evidence(kernel, projection));
  const double assignments = log_factorial(q + 2 * k) - log_factorial(q) - 2.0 * log_factorial(k);
  const double tests = std::log(static_cast<double>(evidence.role_kernels.size()));
  return std::clamp(best - tests, 0.0, assignments);
}

// -ln of the p-value of `count` independent ones whose -ln sum to `sum`: the tail of a gamma law
// [fisher1932].
double combined_evidence(double sum, int count) {
  double term = 1.0, series = 1.0;
  for (int i = 1; i < count; ++i) series += term *= sum / i;
  return sum - std::log(series);
}

double order_evidence(const Evidence& evidence, const RoleCandidate& order) {
  const std::vector<Index> heads = sequence(0, static_cast<Index>(order.query.size()));
  std::vector<double> query_key, value_output;
  for (const PairingProducts& p : evidence.pairings) {
    query_key.push_back(pairing_z(group_correlations(p.blocks, order.query, p.blocks, order.key, p.blocks)));
    if (evidence.has_output)
      value_output.push_back(
          pairing_z(group_correlations(p.outputs, heads, p.blocks, order.value, p.between.transpose())));
  }
  double sum = pairing_evidence(query_key, order.key.size()) + role_evidence(evidence, order);
  if (evidence.has_output) sum += pairing_evidence(value_output, order.key.size());
  return combined_evidence(sum, evidence.has_output ? 3 : 2);
}

void check_shapes(MatrixView fused, MatrixView output, Index n_heads, Index n_kv_heads, Index head_dim) {
  check_counts(n_heads, n_kv_heads);
  if (head_dim < 1)
    throw ArgumentError(fmt::format("score_block_roles: head_dim must be positive, not {}", head_dim));
  const Index rows = (n_heads + 2 * n_kv_heads) * head_dim;
  if (fused.rows() != rows || fused.cols() < 1)
    throw ArgumentError(
        fmt::format("score_block_roles: fused must have (n_heads + 2 n_kv_heads) head_dim = {} rows "
                    "and a column, not [{}, {}]",
                    rows, fused.rows(), fused.cols()));
  if (output.size() > 0 && output.rows() != n_heads * head_dim)
    throw ArgumentError(fmt::format("score_block_roles: output must have n_heads head_dim = {} rows, not {}",
                                    n_heads * head_dim, output.rows()));
}

// Factor that takes the largest magnitude to 1, so that squares neither overflow nor vanish; nothing where an
// entry is not finite.
std::optional<double> unit_scale(MatrixView m) {
  if (!m.allFinite()) return std::nullopt;
  const double largest = m.size() > 0 ? m.cwiseAbs().maxCoeff() : 0.0;
  return largest > std::numeric_limits<double>::min() ? 1.0 / largest : 1.0;
}

}  // namespace

RoleCandidate role_order(const std::string& code, Index n_heads, Index n_kv_heads) {
  check_counts(n_heads, n_kv_heads);
  if (!allows(code, n_heads, n_kv_heads))
    throw ArgumentError(fmt::format("block order {} does not exist for {} heads over {} key/value heads",
                                    code, n_heads, n_kv_heads));
  if (code == "S3")
    return {code, sequence(0, n_heads), sequence(n_heads, n_kv_heads),
            sequence(n_heads + n_kv_heads, n_kv_heads)};
  RoleCandidate out{code, {}, {}, {}};
  const bool slabs = code == "QVK4";
  const Index n_units = slabs ? 4 : n_kv_heads;
  const Index n_query = n_heads / n_units, n_key = n_kv_heads / n_units;
  for (Index first = 0; first < n_heads + 2 * n_kv_heads; first += n_query + 2 * n_key) {
    append(out.query, first, n_query);
    append(slabs ? out.value : out.key, first + n_query, n_key);
    append(slabs ? out.key : out.value, first + n_query + n_key, n_key);
  }
  return out;
}

std::vector<RoleCandidate> role_candidates(Index n_heads, Index n_kv_heads) {
  std::vector<RoleCandidate> out = {role_order("S3", n_heads, n_kv_heads)};
  for (const char* code : {"I3", "IG", "QVK4"}) {
    if (!allows(code, n_heads, n_kv_heads)) continue;
    RoleCandidate candidate = role_order(code, n_heads, n_kv_heads);
    if (std::none_of(out.begin(), out.end(),
                     [&](const RoleCandidate& o) { return same_order(o, candidate); }))
      out.push_back(std::move(candidate));
  }
  return out;
}

bool same_block_order(const std::string& a, const std::string& b, Index n_heads, Index n_kv_heads) {
  check_counts(n_heads, n_kv_heads);
  const bool both = allows(a, n_heads, n_kv_heads) && allows(b, n_heads, n_kv_heads);
  return both && same_order(role_order(a, n_heads, n_kv_heads), role_order(b, n_heads, n_kv_heads));
}

RoleScore score_block_roles(MatrixView fused, MatrixView output, Index n_heads, Index n_kv_heads,
                            Index head_dim) {
  check_shapes(fused, output, n_heads, n_kv_heads, head_dim);
  const std::vector<RoleCandidate> candidates = role_candidates(n_heads, n_kv_heads);
  if (candidates.size() < 2) return {};
  const std::optional<double> fused_scale = unit_scale(fused), output_scale = unit_scale(output);
  if (!fused_scale || !output_scale) return {};
  const Evidence evidence =
      gather_evidence({fused, *fused_scale, head_dim}, {output, *output_scale, head_dim});

  RoleScore out;
  std::vector<double> stated, exchanged;
  double best = -1.0;
  for (const RoleCandidate& c : candidates) {
    stated.push_back(order_evidence(evidence, c));
    exchanged.push_back(order_evidence(evidence, {c.code, c.query, c.value, c.key}));
    out.scores[c.code] = stated.back() / std::numbers::ln10;
    if (stated.back() > best) best = stated.back(), out.best = c.code;
  }
  double doubt = static_cast<double>(candidates.size()) * std::exp(-best);
  for (const double e : stated) doubt += std::exp(e - best);  // the best itself is the 1 of the formula
  for (const double e : exchanged) doubt += kExchangedPrior * std::exp(e - best);
  out.confidence = 1.0 / doubt;
  out.decided = out.confidence >= kRoleConfidence;
  return out;
}

}  // namespace headspan::subspace
