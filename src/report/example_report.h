#pragma once
// A small report made by hand, for the tests of this room.

#include <limits>

#include "headspan/audit/facts.h"

namespace headspan::report {

/// Two heads over one key/value head: one pair, significantly aligned in query_subspace.
inline audit::LayerFacts example_layer(int number) {
  audit::LayerFacts layer;
  layer.layer = number;
  layer.stack = "decoder";
  layer.attention = "self";
  layer.code = "SEP";
  layer.n_heads = 2;
  layer.n_kv_heads = 1;
  layer.head_dim = 4;
  layer.value_dim = 4;
  layer.tensors = {{"query", "layers.q"}, {"key", "layers.k"}, {"value", "layers.v"}, {"output", "layers.o"}};
  layer.qk_norm = "none";
  layer.folded = "rms gain of layers.norm";
  layer.rank_tolerance = {{"query", 1e-7}};

  audit::SourceFacts query;
  query.source = audit::Source::query_subspace;
  query.diversity.hdi = 0.1;
  query.diversity.baseline = 0.75;
  query.diversity.baseline_sd = 0.05;
  query.diversity.z = -13.0;
  query.diversity.z_method = "closed form";
  query.diversity.bound = 1.0;
  query.diversity.headroom = 0.9;
  query.diversity.n_eff_1 = 1.25;
  query.diversity.n_eff_2 = 1.125;
  query.diversity.n_eff_inf = 1.0625;
  query.p_method = "beta";
  query.n_heads = 2;
  query.n_significant_aligned = 1;
  query.matrix = Matrix::Identity(2, 2);
  query.matrix(0, 1) = query.matrix(1, 0) = 0.9;
  audit::SourceFacts key;
  key.source = audit::Source::key_subspace;
  key.n_heads = 1;
  key.reason = "one head";
  layer.sources = {query, key};

  audit::PairFacts pair;
  pair.source = audit::Source::query_subspace;
  pair.a = 0;
  pair.b = 1;
  pair.overlap = 0.9;
  pair.z = 12.5;
  pair.p = 1e-9;
  pair.q = 2e-9;
  pair.direction = audit::Direction::aligned;
  pair.angles = std::vector<double>{1.0471975511965976, 0.5235987755982988};
  layer.pairs = {pair};

  for (int head = 0; head < 2; ++head) {
    audit::HeadFacts facts;
    facts.head = head;
    facts.rank_query = facts.rank_key = facts.rank_value = facts.rank_output = 4;
    facts.qk_norm = 2.5;
    facts.ov_norm = 3.5;
    layer.heads.push_back(facts);
  }
  return layer;
}

/// Layer 0 sound, layer 1 refused.
inline audit::AuditReport example_report() {
  audit::AuditReport report;
  report.model.path = "model.safetensors";
  report.model.format = "safetensors";
  report.model.layout = "llama";
  report.model.layout_code = "SEP";
  report.model.n_layers = 2;
  report.model.d_model = 16;
  report.model.n_heads = 2;
  report.model.head_dim = 4;
  report.model.origin = {{"n_heads", "config.json: num_attention_heads"}};
  report.model.prefixes = {"model."};
  report.layers.push_back(example_layer(0));
  audit::LayerFacts refused;
  refused.layer = 1;
  refused.stack = "decoder";
  refused.attention = "self";
  refused.status = audit::Status::refused;
  refused.reason = "layers.1.q: dtype F8_E4M3, \"quantised\"";
  report.layers.push_back(refused);
  report.thresholds.push_back({"min_hdi", 0.5, audit::Source::query_subspace, 0.1, {"0"}, true});
  report.summary.n_layers = 2;
  report.summary.n_layers_ok = 1;
  report.summary.n_heads = 2;
  report.summary.n_pairs_aligned = 1;
  report.summary.mean_hdi = {{"query_subspace", 0.1}};
  report.summary.reading = {"The heads are alike.", "One layer could not be read."};
  report.summary.complete = false;
  return report;
}

}  // namespace headspan::report
