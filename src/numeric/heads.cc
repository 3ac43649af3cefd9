#include "headspan/numeric/heads.h"

#include <fmt/format.h>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

void check_projection(const char* name, const HeadWeights& part) {
  if (part.n_heads <= 0 || part.head_dim <= 0)
    throw ArgumentError(fmt::format("{}: {} heads of dimension {}: both must be positive", name, part.n_heads,
                                    part.head_dim));
  if (part.weight.rows() != part.n_heads * part.head_dim || part.weight.cols() == 0)
    throw ArgumentError(fmt::format("{}: weight is {} x {}, but {} heads of dimension {} need {} rows", name,
                                    part.weight.rows(), part.weight.cols(), part.n_heads, part.head_dim,
                                    part.n_heads * part.head_dim));
}

void check_equal(const char* rule, Index left, Index right) {
  if (left != right) throw ArgumentError(fmt::format("{}: {} against {}", rule, left, right));
}

void check_gain(const char* name, const Vector& gain, Index rows) {
  if (gain.size() != 0 && gain.size() != rows)
    throw ArgumentError(fmt::format("{} has {} entries for {} rows", name, gain.size(), rows));
}

}  // namespace

void check_shapes(const LayerHeads& heads) {
  check_projection("query", heads.query);
  check_projection("key", heads.key);
  check_projection("value", heads.value);
  check_projection("output", heads.output);
  check_equal("query and key head_dim must agree", heads.query.head_dim, heads.key.head_dim);
  check_equal("value and output head_dim must agree", heads.value.head_dim, heads.output.head_dim);
  check_equal("key and value n_heads must agree", heads.key.n_heads, heads.value.n_heads);
  check_equal("query and output n_heads must agree", heads.query.n_heads, heads.output.n_heads);
  check_equal("keys and values must read the same width", heads.key.width(), heads.value.width());
  if (heads.query.n_heads % heads.key.n_heads != 0)
    throw ArgumentError(fmt::format("{} query heads cannot share {} key/value heads evenly",
                                    heads.query.n_heads, heads.key.n_heads));
  check_gain("query_gain", heads.query_gain, heads.query.weight.rows());
  check_gain("key_gain", heads.key_gain, heads.key.weight.rows());
}

}  // namespace headspan
