#pragma once
// A checkpoint in, facts out.

#include "headspan/audit/facts.h"
#include "headspan/checkpoint/model.h"

namespace headspan::audit {

/// Thrown when the progress callback asks to stop.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

/// Thrown for an input covariance that is none, or that is not one of this model's inputs: not square,
/// symmetric and positive semi-definite, zero, or of another size.
class CovarianceError : public ArgumentError {
 public:
  using ArgumentError::ArgumentError;
};

/// Audits every attention layer, one at a time. Peak memory: the largest layer's Q, K, V and O in double plus
/// a constant and the facts. Results do not depend on the thread count. Throws CovarianceError; what is wrong
/// with one layer becomes its row's status.
AuditReport audit(const checkpoint::Model& model, const AuditOptions& options, const Progress& progress = {});

/// Facts of one layer from its weights alone, for callers with weights from elsewhere.
LayerFacts audit_layer(LayerHeads heads, const AuditOptions& options);

}  // namespace headspan::audit
