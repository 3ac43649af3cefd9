#include "audit/roles.h"

#include <fmt/format.h>

#include "headspan/subspace/block_roles.h"

namespace headspan::audit {

void add_roles(const checkpoint::Model& model, std::size_t layer, LayerFacts& facts) {
  if (!model.layers()[layer].tensors.contains("fused")) return;
  const Matrix output = std::move(model.read(layer).output.weight);
  const Matrix fused = model.read_fused(layer);
  const checkpoint::LayerPlace& place = model.layers()[layer];
  const subspace::RoleScore score =
      subspace::score_block_roles(fused, output, place.n_heads, place.n_kv_heads, place.head_dim);
  RoleFacts roles;
  roles.stated = place.code.substr(0, place.code.find('+'));
  roles.best = score.best;
  roles.scores = score.scores;
  roles.confidence = score.confidence;
  const auto agrees = [&] {
    return subspace::same_block_order(score.best, roles.stated, place.n_heads, place.n_kv_heads);
  };
  roles.verdict = !score.decided ? "cannot tell" : agrees() ? "agrees" : "contradicts";
  facts.roles = roles;
}

void doubt_if_contradicted(LayerFacts& facts) {
  if (!facts.roles || facts.roles->verdict != "contradicts") return;
  facts.status = Status::doubtful;
  const std::string doubt = fmt::format(
      "the layout states {} order of the fused matrix, but the weights fit {} better (confidence {:.3f}); "
      "check the model family, or force a layout with --layout",
      facts.roles->stated, facts.roles->best, facts.roles->confidence);
  facts.reason = facts.reason.empty() ? doubt : facts.reason + "; " + doubt;
}

}  // namespace headspan::audit
