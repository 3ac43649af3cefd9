#include <algorithm>
#include <vector>

#include "checkpoint/layer_plan.h"

namespace headspan::checkpoint {
namespace {

/// Entries held while a tensor is re-ordered on its way in; bounds what a read needs beyond its result.
constexpr std::int64_t kChunkEntries = std::int64_t{1} << 18;

enum class Role { query, key, value };

/// Rows [source, source + count) of the stored matrix, in [out, in] orientation, are rows [target, ...) of
/// the result.
struct Segment {
  std::int64_t source, target, count;
};

/// The row segments of one role of a fused matrix of H query and G key/value heads of dimension d.
std::vector<Segment> fused_segments(FusedCode code, Role role, const LayerPlace& place) {
  const std::int64_t n_heads = place.n_heads, n_kv = place.n_kv_heads, d = place.head_dim;
  const std::int64_t part = static_cast<std::int64_t>(role);
  const std::int64_t section_start = role == Role::query ? 0 : n_heads + (part - 1) * n_kv;
  std::vector<Segment> segments;
  switch (code) {
    case FusedCode::separate:
      break;
    case FusedCode::sections:
      segments.push_back({section_start * d, 0, (role == Role::query ? n_heads : n_kv) * d});
      break;
    case FusedCode::per_head:
      for (std::int64_t h = 0; h < n_heads; ++h) segments.push_back({(3 * h + part) * d, h * d, d});
      break;
    case FusedCode::per_group: {
      const std::int64_t group = n_heads / n_kv;
      const std::int64_t blocks = role == Role::query ? group : 1;
      const std::int64_t skipped = role == Role::query ? 0 : group + part - 1;
      for (std::int64_t g = 0; g < n_kv; ++g)
        segments.push_back({(g * (group + 2) + skipped) * d, g * blocks * d, blocks * d});
      break;
    }
    case FusedCode::qvk_slabs: {
      const std::int64_t rows = n_heads / 4 * d;
      const std::int64_t place_in_slab = role == Role::query ? 0 : role == Role::value ? 1 : 2;
      for (std::int64_t slab = 0; slab < 4; ++slab)
        segments.push_back({(3 * slab + place_in_slab) * rows, slab * rows, rows});
      break;
    }
  }
  return segments;
}

std::int64_t segment_rows(const std::vector<Segment>& segments) {
  std::int64_t rows = 0;
  for (const Segment& segment : segments) rows += segment.count;
  return rows;
}

/// Calls use(first, chunk) for the stored rows of a matrix, a bounded number at a time.
template <class Use>
void for_each_chunk(const Container& container, const TensorEntry& tensor, Use use) {
  const std::int64_t rows = tensor.shape[0], cols = tensor.shape[1];
  const std::int64_t step = std::clamp<std::int64_t>(kChunkEntries / cols, 1, rows);
  Matrix chunk(step, cols);
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t count = std::min(step, rows - first);
    container.read_rows(tensor, first, count, chunk.topRows(count));
    use(first, chunk.topRows(count));
  }
}

/// The segments of a matrix stored [out, in], or [in, out] if `in_out`, as rows of the result.
Matrix read_segments(const Container& container, const TensorEntry& tensor,
                     const std::vector<Segment>& segments, bool in_out) {
  Matrix out(segment_rows(segments), tensor.shape[in_out ? 0 : 1]);
  if (!in_out) {
    for (const Segment& segment : segments)
      container.read_rows(tensor, segment.source, segment.count,
                          out.middleRows(segment.target, segment.count));
    return out;
  }
  for_each_chunk(container, tensor, [&](std::int64_t first, const auto& chunk) {
    for (const Segment& segment : segments)
      out.block(segment.target, first, segment.count, chunk.rows()) =
          chunk.middleCols(segment.source, segment.count).transpose();
  });
  return out;
}

Vector read_vector(const Container& container, const TensorEntry& tensor) {
  const bool matrix = tensor.shape.size() == 2;
  Matrix rows(matrix ? tensor.shape[0] : 1, tensor.shape.back());
  container.read_rows(tensor, 0, tensor.shape[0], rows);
  return Eigen::Map<const Vector>(rows.data(), rows.size());
}

void fold(const Container& container, const NormFold& norm, HeadWeights& part) {
  if (!norm.gain) return;
  const Vector gain = read_vector(container, *norm.gain).array() + norm.offset;
  part.weight.array().rowwise() *= gain.transpose().array();
  if (!norm.centre) return;
  const Vector means = part.weight.rowwise().mean();
  part.weight.colwise() -= means;
}

/// Gain of an inner norm for every row: repeated over the heads where it has one entry per axis of a head.
Vector inner_gain(const Container& container, const std::vector<const TensorEntry*>& norms, double offset,
                  std::int64_t n_heads, std::int64_t head_dim) {
  if (norms.empty()) return {};
  std::vector<double> entries;
  for (const TensorEntry* norm : norms) {
    const Vector part = read_vector(container, *norm);
    entries.insert(entries.end(), part.begin(), part.end());
  }
  const Vector gain =
      Eigen::Map<const Vector>(entries.data(), static_cast<Index>(entries.size())).array() + offset;
  return gain.size() == n_heads * head_dim ? gain : gain.replicate(n_heads, 1);
}

HeadWeights projection(const Container& container, const LayerPlan& plan, const LayerPlace& place,
                       Role role) {
  HeadWeights part;
  part.n_heads = role == Role::query ? place.n_heads : place.n_kv_heads;
  part.head_dim = role == Role::value ? place.value_dim : place.head_dim;
  const TensorEntry* own = role == Role::query ? plan.query : role == Role::key ? plan.key : plan.value;
  const TensorEntry& tensor = plan.fused ? *plan.fused : *own;
  const std::vector<Segment> segments = plan.fused
                                            ? fused_segments(plan.names->code, role, place)
                                            : std::vector<Segment>{{0, 0, part.n_heads * part.head_dim}};
  part.weight = read_segments(container, tensor, segments, plan.names->in_out);
  part.unit_roundoff = tensor.dtype.unit_roundoff;
  fold(container, role == Role::query ? plan.query_fold : plan.memory_fold, part);
  return part;
}

/// Stored [d_model, H*value_dim] (or its transpose); held with the heads along the rows.
HeadWeights output_projection(const Container& container, const LayerPlan& plan, const LayerPlace& place) {
  HeadWeights part;
  part.n_heads = place.n_heads;
  part.head_dim = place.value_dim;
  part.unit_roundoff = plan.output->dtype.unit_roundoff;
  part.weight =
      read_segments(container, *plan.output, {{0, 0, part.n_heads * part.head_dim}}, !plan.names->in_out);
  return part;
}

}  // namespace

LayerHeads read_heads(const Container& container, const LayerPlan& plan, const LayerPlace& place) {
  LayerHeads heads;
  heads.query = projection(container, plan, place, Role::query);
  heads.key = projection(container, plan, place, Role::key);
  heads.value = projection(container, plan, place, Role::value);
  heads.output = output_projection(container, plan, place);
  const double offset = plan.names->qk_gain_offset;
  heads.query_gain = inner_gain(container, plan.query_norm, offset, place.n_heads, place.head_dim);
  heads.key_gain = inner_gain(container, plan.key_norm, offset, place.n_kv_heads, place.head_dim);
  check_shapes(heads);
  return heads;
}

Matrix read_fused_rows(const Container& container, const LayerPlan& plan) {
  if (!plan.fused) return {};
  const bool in_out = plan.names->in_out;
  return read_segments(container, *plan.fused, {{0, 0, plan.fused->shape[in_out ? 1 : 0]}}, in_out);
}

}  // namespace headspan::checkpoint
