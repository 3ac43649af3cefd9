#pragma once
// The order of a fused matrix held against the weights themselves.

#include "headspan/audit/facts.h"
#include "headspan/checkpoint/model.h"

namespace headspan::audit {

/// Fills `facts.roles` for a fused layout. Reads the fused matrix and the output projection; both are
/// released again.
void add_roles(const checkpoint::Model& model, std::size_t layer, LayerFacts& facts);

/// Marks a layer doubtful whose weights contradict the stated order.
void doubt_if_contradicted(LayerFacts& facts);

}  // namespace headspan::audit
