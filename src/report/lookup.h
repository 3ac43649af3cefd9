#pragma once
// Finding things in an audit report.

#include "headspan/audit/facts.h"

namespace headspan::report {

/// The facts of one source of a layer; nullptr where the layer has none.
const audit::SourceFacts* find_source(const audit::LayerFacts& layer, audit::Source source);

/// An optional member of the diversity of one source; empty where the layer has no such source.
std::optional<double> diversity_value(const audit::LayerFacts& layer, audit::Source source,
                                      std::optional<double> ensemble::Diversity::*member);

/// Whether a source compares the stored key/value heads rather than all query heads.
bool is_of_key_heads(audit::Source source);

}  // namespace headspan::report
