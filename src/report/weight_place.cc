#include "report/weight_place.h"

#include <fmt/format.h>

#include <optional>

namespace headspan::report {
namespace {

using audit::LayerFacts;

// Sizes of a layer whose numbers are all known.
struct Shape {
  std::int64_t n_heads, n_kv_heads, group, head_dim, value_dim;
};

std::optional<Shape> shape_of(const LayerFacts& layer) {
  if (layer.n_heads == 0 || layer.n_kv_heads == 0 || layer.head_dim == 0) return std::nullopt;
  const std::int64_t value_dim = layer.value_dim == 0 ? layer.head_dim : layer.value_dim;
  return Shape{layer.n_heads, layer.n_kv_heads, layer.n_heads / layer.n_kv_heads, layer.head_dim, value_dim};
}

// First row of the block of a role within a fused matrix; empty for a code without one.
std::optional<std::int64_t> fused_first(const std::string& code, const Shape& s, Role role,
                                        std::int64_t head) {
  const std::int64_t d = s.head_dim;
  const std::int64_t kv = head / s.group;
  if (code == "S3") {
    if (role == Role::query) return head * d;
    if (role == Role::key) return (s.n_heads + kv) * d;
    return (s.n_heads + s.n_kv_heads) * d + kv * s.value_dim;
  }
  if (code == "I3" || code == "IG") {
    const std::int64_t start = kv * (s.group + 2) * d;
    if (role == Role::query) return start + (head % s.group) * d;
    return start + (s.group + (role == Role::key ? 0 : 1)) * d;
  }
  if (code == "QVK4") {
    constexpr std::int64_t kSlabs = 4;
    const std::int64_t per_slab = s.n_heads / kSlabs;
    if (per_slab == 0) return std::nullopt;
    const std::int64_t part = role == Role::query ? 0 : role == Role::value ? 1 : 2;
    return ((head / per_slab) * 3 + part) * per_slab * d + (head % per_slab) * d;
  }
  return std::nullopt;
}

std::string range_text(bool rows, std::int64_t first, std::int64_t count) {
  return fmt::format("{} {}-{}", rows ? "rows" : "columns", first, first + count - 1);
}

}  // namespace

const char* to_string(Role role) {
  switch (role) {
    case Role::query:
      return "query";
    case Role::key:
      return "key";
    case Role::value:
      return "value";
    case Role::output:
      return "output";
  }
  return "";
}

WeightPlace weight_place(const LayerFacts& layer, Role role, int head) {
  const bool in_out = layer.code.ends_with("+T");
  const std::string code = layer.code.substr(0, layer.code.find('+'));
  const auto separate = layer.tensors.find(to_string(role));
  const auto fused = layer.tensors.find("fused");
  const bool is_fused = separate == layer.tensors.end();
  if (is_fused && fused == layer.tensors.end()) return {"-", "-"};
  WeightPlace place{is_fused ? fused->second : separate->second, "-"};
  const std::optional<Shape> s = shape_of(layer);
  if (!s) return place;
  const bool of_values = role == Role::value || role == Role::output;
  const std::int64_t size = of_values ? s->value_dim : s->head_dim;
  const bool of_key_heads = role == Role::key || role == Role::value;
  if (!is_fused) {
    const std::int64_t block = of_key_heads ? head / s->group : head;
    // The output projection reads the heads: they are its columns where the others have them as rows.
    place.range = range_text((role == Role::output) == in_out, block * size, size);
  } else if (const auto first = fused_first(code, *s, role, head)) {
    place.range = range_text(!in_out, *first, size);
  }
  return place;
}

}  // namespace headspan::report
