#pragma once
// Which order the blocks of a fused query/key/value matrix are in, judged from the weights alone.

#include <map>
#include <string>
#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::subspace {

/// An order of the blocks of a fused matrix: which block of head_dim rows is which head of which role.
struct RoleCandidate {
  std::string code;  ///< "S3", "I3", "IG" or "QVK4"
  std::vector<Index> query, key,
      value;  ///< block numbers, head by head: n_heads, n_kv_heads, n_kv_heads of them
};

/// The order that a code states:
///   S3    [all Q | all K | all V]
///   I3    per head [q, k, v]; needs n_kv_heads = n_heads
///   IG    per key/value group [q_1 .. q_r, k, v]
///   QVK4  four slabs, each [Q | V | K]; needs n_kv_heads = n_heads, a multiple of 4
/// Throws ArgumentError for another code, for head counts it does not allow, or unless n_kv_heads divides
/// n_heads.
RoleCandidate role_order(const std::string& code, Index n_heads, Index n_kv_heads);

/// The orders among which score_block_roles decides, no two of them alike: S3; I3, or IG where n_kv_heads <
/// n_heads; QVK4. A single one where there is no alternative: one head, or one key/value head.
std::vector<RoleCandidate> role_candidates(Index n_heads, Index n_kv_heads);

/// Whether two codes state the same order for these head counts (I3 and IG without groups). False where one
/// of them does not allow the counts; ArgumentError for an unknown code.
bool same_block_order(const std::string& a, const std::string& b, Index n_heads, Index n_kv_heads);

/// How well the weights support each order.
struct RoleScore {
  std::map<std::string, double>
      scores;               ///< candidate code -> evidence, -log10 of a p-value; empty if not computable
  std::string best;         ///< code of the most evidence; empty if there is no alternative or no score
  double confidence = 0.0;  ///< in [0, 1], of `best` against the other candidates and against chance
  bool decided = false;     ///< confidence >= kRoleConfidence; false means "cannot tell"
};

/// Confidence from which an order counts as told from the weights; measured in
/// docs/decisions/0004-block-roles.md.
inline constexpr double kRoleConfidence = 0.999;

/// Scores every candidate order of `fused` [(n_heads + 2 n_kv_heads) head_dim, width] with the output
/// projection `output` [n_heads head_dim, d_model] (rows = heads, W_O^T), which may be empty.
///
/// Three independent p-values per candidate, each against blocks assigned at random:
///  - query/key: the Gram matrices W W^T (trace removed) and the logarithmic row energies of the queries of a
///    group, summed, correlate with those of its key, since Q^T K leaves the two a basis in common. With C
///    the correlations [n_kv_heads, n_kv_heads] and D = C centred by rows and columns, z = tr D /
///    sqrt(|D|_F^2 / (n_kv_heads - 1)); two-sided, the larger |z| of the two features counted twice
///  - value/output: the same for V and O
///  - roles: share of the between-role sum of squares in the logarithmic norms and column energies, or in the
///  row
///    energies, by a beta law with the exact first two moments under permutation of the blocks
///    [kazi-aoual1995]
/// combined by Fisher's method. No p-value is taken below one over the number of distinct assignments, so few
/// heads give no confidence. With E = -ln p of the candidates and E' the same with keys and values exchanged,
///   confidence = 1 / (1 + sum_{c != best} e^(E_c - E_best) + n e^(-E_best) + 0.001 sum_c e^(E'_c - E_best)).
///
/// Undecided without scores where there is one candidate only or an entry is not finite. Invariant to the
/// scale of the matrices. Throws ArgumentError if shapes disagree with the head counts. Cost O((2 n_heads + 2
/// n_kv_heads) head_dim^2 width); memory (2 n_heads + 2 n_kv_heads) head_dim^2 doubles. Deterministic for any
/// thread count.
RoleScore score_block_roles(MatrixView fused, MatrixView output, Index n_heads, Index n_kv_heads,
                            Index head_dim);

}  // namespace headspan::subspace
