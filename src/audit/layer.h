#pragma once
// The audit of one layer from its weights.

#include "audit/baselines.h"
#include "headspan/audit/facts.h"
#include "headspan/numeric/heads.h"

namespace headspan::audit {

/// A factor F with S = F F^T for the input covariance of a model, and what is needed of S.
struct InputCovariance {
  Matrix factor;      ///< [d, d]; empty: identity
  Index freedom = 0;  ///< participation dimension tr(S)^2 / tr(S^2), rounded
};

/// Throws CovarianceError unless S is square, finite, symmetric, positive semi-definite and not zero. Cost
/// O(d^3).
InputCovariance factor_covariance(MatrixView covariance);

/// Fills status, sources, pairs and heads of `facts`, whose description (layer, shapes, tensors) is the
/// caller's.
void audit_heads(LayerHeads heads, const InputCovariance& input, const AuditOptions& options,
                 Baselines& baselines, LayerFacts& facts);

}  // namespace headspan::audit
