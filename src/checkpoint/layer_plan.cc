#include "checkpoint/layer_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

namespace headspan::checkpoint {
namespace {

using Kind = LayerTrouble::Kind;

/// Stands for the head's number in the name of an inner norm.
constexpr std::string_view kHead = "{head}";

std::string shown(const TensorEntry& tensor) { return tensor.name + " " + shape_text(tensor.shape); }

void check_readable(const TensorEntry& tensor) {
  if (!tensor.dtype.readable)
    throw LayerTrouble(
        Kind::unreadable,
        fmt::format("{} is stored as {}, which is not read (F64, F32, F16 and BF16 are); convert it to "
                    "BF16 or F32",
                    tensor.name, tensor.dtype.name));
}

void check_matrix(const TensorEntry& tensor) {
  if (tensor.shape.size() != 2)
    throw LayerTrouble(Kind::unreadable,
                       fmt::format("{}: a projection must have two dimensions", shown(tensor)));
  if (tensor.shape[0] <= 0 || tensor.shape[1] <= 0)
    throw LayerTrouble(Kind::unreadable, fmt::format("{} is empty", shown(tensor)));
  check_readable(tensor);
}

/// Looks up the tensors of one layer.
class LayerFinder {
 public:
  LayerFinder(const Container& container, const LayerQuestion& question, LayerPlace& place)
      : container_(container),
        stack_(*question.stack),
        place_(place),
        base_(stack_.layers.at(question.number)) {}

  const TensorEntry* optional(const char* role, const std::string& full_name) {
    const TensorEntry* tensor = container_.find(full_name);
    if (tensor) place_.tensors[role] = full_name;
    return tensor;
  }
  const TensorEntry* own(const char* role, const std::string& name) {
    if (name.empty()) return nullptr;
    const TensorEntry* tensor = optional(role, base_ + name);
    if (!tensor) missing_.push_back(base_ + name);
    return tensor;
  }
  const TensorEntry* norm(const char* role, const NormNames& norm, bool absolute) {
    for (const std::string& name : norm.tensors)
      if (const TensorEntry* tensor = optional(role, (absolute ? stack_.prefix : norm_base()) + name))
        return tensor;
    return nullptr;
  }
  /// One tensor, or those of heads 0, 1, ... up to the first that is missing.
  std::vector<const TensorEntry*> inner_norm(const char* role, const std::string& name) {
    if (name.empty()) return {};
    const std::size_t mark = name.find(kHead);
    if (mark == std::string::npos) {
      const TensorEntry* tensor = optional(role, base_ + name);
      return tensor ? std::vector{tensor} : std::vector<const TensorEntry*>{};
    }
    std::vector<const TensorEntry*> heads;
    const auto name_of = [&](std::size_t h) {
      return base_ + name.substr(0, mark) + std::to_string(h) + name.substr(mark + kHead.size());
    };
    while (const TensorEntry* tensor = container_.find(name_of(heads.size()))) heads.push_back(tensor);
    if (!heads.empty()) place_.tensors[role] = base_ + name;
    return heads;
  }
  const std::string& norm_base() const { return base_; }
  void check_complete() const {
    if (!missing_.empty())
      throw LayerTrouble(Kind::unreadable,
                         fmt::format("{} not in the file: the layer is incomplete (a missing shard, "
                                     "a shared or pruned projection?)",
                                     fmt::join(missing_, ", ")));
  }

 private:
  const Container& container_;
  const StackNames& stack_;
  LayerPlace& place_;
  std::string base_;
  std::vector<std::string> missing_;
};

std::int64_t out_rows(const TensorEntry& tensor, bool in_out) { return tensor.shape[in_out ? 1 : 0]; }
std::int64_t in_width(const TensorEntry& tensor, bool in_out) { return tensor.shape[in_out ? 0 : 1]; }

/// The query rows of a fused matrix are what the output projection reads; keys and values share the rest
/// evenly.
void fused_shapes(const LayerPlan& plan, LayerShapes& shapes) {
  const bool in_out = plan.names->in_out;
  const std::int64_t total = out_rows(*plan.fused, in_out);
  shapes.query_rows = shapes.output_inner;
  const std::int64_t rest = total - shapes.query_rows;
  if (rest <= 0 || rest % 2 != 0)
    throw LayerTrouble(
        Kind::contradiction,
        fmt::format("{} has {} rows of queries, keys and values, but {} reads {} query rows, which leaves "
                    "{} for keys and values: not this layout ({}{}); name another with --layout",
                    shown(*plan.fused), total, shown(*plan.output), shapes.query_rows, rest,
                    to_string(plan.names->code), in_out ? "+T, stored [in, out]" : ""));
  shapes.key_rows = shapes.value_rows = rest / 2;
  shapes.width = in_width(*plan.fused, in_out);
  shapes.query_text = shapes.key_text = shapes.value_text = shown(*plan.fused);
}

void separate_shapes(const LayerPlan& plan, LayerShapes& shapes) {
  const bool in_out = plan.names->in_out;
  shapes.query_rows = out_rows(*plan.query, in_out);
  shapes.key_rows = out_rows(*plan.key, in_out);
  shapes.value_rows = out_rows(*plan.value, in_out);
  shapes.width = in_width(*plan.query, in_out);
  shapes.query_text = shown(*plan.query);
  shapes.key_text = shown(*plan.key);
  shapes.value_text = shown(*plan.value);
  const std::int64_t key_width = in_width(*plan.key, in_out);
  const std::int64_t value_width = in_width(*plan.value, in_out);
  const bool self = plan.names->attention == "self";
  if (key_width != value_width || (self && key_width != shapes.width))
    throw LayerTrouble(Kind::contradiction,
                       fmt::format("{}, {} and {} do not read one width", shapes.query_text, shapes.key_text,
                                   shapes.value_text));
}

LayerShapes layer_shapes(const LayerPlan& plan) {
  const bool in_out = plan.names->in_out;
  LayerShapes shapes;
  shapes.output_inner = in_width(*plan.output, in_out);
  shapes.output_text = shown(*plan.output);
  plan.fused ? fused_shapes(plan, shapes) : separate_shapes(plan, shapes);
  if (out_rows(*plan.output, in_out) != shapes.width)
    throw LayerTrouble(
        Kind::contradiction,
        fmt::format("{} reads a width of {}, but {} writes {}: not this layout ({}{}); name another with "
                    "--layout",
                    shapes.query_text, shapes.width, shapes.output_text, out_rows(*plan.output, in_out),
                    to_string(plan.names->code), in_out ? "+T, stored [in, out]" : ""));
  if (!plan.query_norm.empty() && plan.query_norm.front()->shape.size() == 1)
    shapes.query_norm = plan.query_norm.front()->elements();
  return shapes;
}

void check_norms_of_heads(const std::vector<const TensorEntry*>& norms, const Sourced& heads,
                          std::int64_t head_dim) {
  for (const TensorEntry* norm : norms) {
    check_readable(*norm);
    if (norm->shape != std::vector<std::int64_t>{head_dim})
      throw LayerTrouble(
          Kind::contradiction,
          fmt::format("{}: the norm of one head must have head_dim = {} entries", shown(*norm), head_dim));
  }
  if (static_cast<std::int64_t>(norms.size()) != heads.value)
    throw LayerTrouble(Kind::contradiction,
                       fmt::format("{} is the last of {} norms numbered from 0, but there are {} heads ({})",
                                   norms.back()->name, norms.size(), heads.value, heads.origin));
}

/// "per_head" or "all_heads", by the shape of an inner norm.
std::string norm_extent(const std::vector<const TensorEntry*>& norms, bool one_per_head, const Sourced& heads,
                        std::int64_t head_dim) {
  if (one_per_head) {
    check_norms_of_heads(norms, heads, head_dim);
    return "per_head";
  }
  const TensorEntry& norm = *norms.front();
  check_readable(norm);
  if (norm.shape.size() == 1 && norm.elements() == head_dim) return "per_head";
  if (norm.shape.size() == 1 && norm.elements() == heads.value * head_dim) return "all_heads";
  if (norm.shape == std::vector<std::int64_t>{heads.value, head_dim}) return "per_head";
  throw LayerTrouble(
      Kind::contradiction,
      fmt::format("{}: an inner norm must have head_dim = {} entries, or n_heads * head_dim = {}",
                  shown(norm), head_dim, heads.value * head_dim));
}

void plan_inner_norms(const LayerPlan& plan, const Counts& counts, LayerPlace& place) {
  place.qk_norm = "none";
  const auto fill = [&](const std::vector<const TensorEntry*>& norms, const std::string& name,
                        const Sourced& heads) {
    if (norms.empty()) return;
    const bool one_per_head = name.find(kHead) != std::string::npos;
    place.qk_norm = norm_extent(norms, one_per_head, heads, counts.head_dim.value);
  };
  fill(plan.key_norm, plan.names->key_norm, counts.n_kv_heads);
  fill(plan.query_norm, plan.names->query_norm, counts.n_heads);
}

/// What is asked of one norm and who reads it.
struct FoldRequest {
  const std::optional<NormNames>* norm;
  const char* role;
  bool absolute;
  std::int64_t width;
};

struct Folded {
  NormFold fold;
  std::string text;
};

void check_gain(const TensorEntry& gain, const NormNames& norm, const FoldRequest& request,
                const Container& container) {
  check_readable(gain);
  if (gain.shape.size() != 1 || gain.elements() != request.width)
    throw LayerTrouble(Kind::contradiction,
                       fmt::format("{}: the gain of a norm of width {} is expected; state "
                                   "--fold-norm no to leave it out",
                                   shown(gain), request.width));
  const std::string suffix = "weight";
  if (norm.kind == "rms" && gain.name.ends_with(suffix) &&
      container.find(gain.name.substr(0, gain.name.size() - suffix.size()) + "bias"))
    throw LayerTrouble(
        Kind::contradiction,
        fmt::format("{} has a bias beside it, so it is a LayerNorm, but the layout says RMSNorm; name "
                    "another --layout, or state --fold-norm no",
                    gain.name));
}

Folded plan_fold(LayerFinder& finder, const Container& container, const LayerQuestion& question,
                 const FoldRequest& request) {
  if (question.fold_norm == FoldNorm::no) return {{}, "none: --fold-norm no"};
  std::string why = "the layout names no input norm";
  if (*request.norm) {
    const NormNames& norm = **request.norm;
    if (const TensorEntry* gain = finder.norm(request.role, norm, request.absolute)) {
      check_gain(*gain, norm, request, container);
      const bool centre = norm.kind == "layer";
      const std::string offset = norm.gain_offset != 0.0 ? fmt::format(" + {}", norm.gain_offset) : "";
      return {{gain, centre, norm.gain_offset},
              centre ? fmt::format("layer gain{} and mean of {}", offset, gain->name)
                     : fmt::format("rms gain{} of {}", offset, gain->name)};
    }
    if (norm.first_layer_identity && question.number == 0) return {{}, "none: layer 0 has no norm by design"};
    why = fmt::format("{} is not in the file", fmt::join(norm.tensors, " or "));
  }
  if (question.fold_norm == FoldNorm::yes)
    throw LayerTrouble(
        Kind::unreadable,
        fmt::format("--fold-norm yes, but {} for {}; state --fold-norm auto or no", why,
                    request.role == std::string("memory_norm") ? "what the keys and values read"
                                                               : "what the projections read"));
  return {{}, "none: " + why};
}

void plan_folds(LayerFinder& finder, const Container& container, const LayerQuestion& question,
                LayerPlan& plan, LayerPlace& place) {
  const AttentionNames& names = *plan.names;
  const TensorEntry& reader = plan.fused ? *plan.fused : *plan.query;
  const Folded input = plan_fold(finder, container, question,
                                 {&names.input_norm, "input_norm", false, in_width(reader, names.in_out)});
  plan.query_fold = plan.memory_fold = input.fold;
  place.folded = input.text;
  if (names.attention == "self") return;
  const TensorEntry& memory_reader = plan.key ? *plan.key : *plan.fused;
  const Folded memory =
      plan_fold(finder, container, question,
                {&names.memory_norm, "memory_norm", true, in_width(memory_reader, names.in_out)});
  plan.memory_fold = memory.fold;
  place.folded = input.text == memory.text
                     ? input.text
                     : fmt::format("{} (queries); {} (keys, values)", input.text, memory.text);
}

void fill_counts(const Counts& counts, LayerPlace& place) {
  place.n_heads = counts.n_heads.value;
  place.n_kv_heads = counts.n_kv_heads.value;
  place.head_dim = counts.head_dim.value;
  place.value_dim = counts.value_dim;
}

}  // namespace

LayerPlan plan_layer(const Container& container, const LayerQuestion& question, LayerPlace& place,
                     Counts& counts) {
  LayerFinder finder(container, question, place);
  LayerPlan plan;
  const AttentionNames& names = *question.stack->names;
  plan.names = &names;
  plan.query = finder.own("query", names.query);
  plan.key = finder.own("key", names.key);
  plan.value = finder.own("value", names.value);
  plan.fused = finder.own("fused", names.fused);
  plan.output = finder.own("output", names.output);
  finder.check_complete();
  for (const TensorEntry* tensor : {plan.query, plan.key, plan.value, plan.fused, plan.output})
    if (tensor) check_matrix(*tensor);
  plan.query_norm = finder.inner_norm("query_norm", names.query_norm);
  plan.key_norm = finder.inner_norm("key_norm", names.key_norm);
  counts = layer_counts(*question.rules, layer_shapes(plan), names.code, question.n_pruned);
  fill_counts(counts, place);
  plan_inner_norms(plan, counts, place);
  plan_folds(finder, container, question, plan, place);
  return plan;
}

}  // namespace headspan::checkpoint
