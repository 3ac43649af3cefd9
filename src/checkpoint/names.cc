#include "checkpoint/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

namespace headspan::checkpoint {
namespace {

/// Wrappers and parents that say nothing about the family. Longest first is not needed: all ways of cutting
/// are tried.
constexpr std::array<std::string_view, 21> kGeneralPrefixes = {"module.",
                                                               "_orig_mod.",
                                                               "_fsdp_wrapped_module.",
                                                               "_forward_module.",
                                                               "base_model.",
                                                               "model.",
                                                               "base_model.model.",
                                                               "language_model.",
                                                               "text_model.",
                                                               "transformer.",
                                                               "backbone.",
                                                               "student.",
                                                               "teacher.",
                                                               "net.",
                                                               "network.",
                                                               "ema.",
                                                               "state_dict.",
                                                               "model_state_dict.",
                                                               "pretrained.",
                                                               "llm.",
                                                               "thinker."};

/// Wrappers that are no part of the path of a module.
constexpr std::array<std::string_view, 4> kWrappers = {"module", "_orig_mod", "_fsdp_wrapped_module",
                                                       "_forward_module"};

constexpr std::string_view kLayerMark = "{layer}";
constexpr std::string_view kPathMark = "{path}";
constexpr std::size_t kMostDigits = 6;

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t dot = std::min(path.find('.', start), path.size());
    parts.push_back(path.substr(start, dot - start));
    start = dot + 1;
  }
  return parts;
}

std::string joined(const std::vector<std::string_view>& parts) {
  return fmt::format("{}", fmt::join(parts, "."));
}

bool made_of_known(std::string_view prefix, const std::vector<std::string>& own) {
  if (prefix.empty()) return true;
  const auto starts = [&](std::string_view part) {
    return prefix.starts_with(part) && made_of_known(prefix.substr(part.size()), own);
  };
  return std::any_of(kGeneralPrefixes.begin(), kGeneralPrefixes.end(), starts) ||
         std::any_of(own.begin(), own.end(), starts);
}

bool without_numbers(std::string_view prefix) {
  const auto parts = components(prefix);
  return std::none_of(parts.begin(), parts.end(), all_digits);
}

/// A name up to its projection, cut into prefix and layer number.
struct Cut {
  std::string prefix;
  int layer = 0;
  std::string label;  ///< only for "{path}" patterns
};

std::optional<int> layer_number(std::string_view digits) {
  if (!all_digits(digits) || digits.size() > kMostDigits) return {};
  return std::stoi(std::string(digits));
}

/// "{path}" patterns: the last all-digit component is the layer number; wrappers are the prefix, the rest
/// without a usual last word names the stack.
std::optional<Cut> cut_path(std::string_view path, const AttentionNames& names) {
  if (!path.empty() && path.back() != '.') return {};
  auto parts = components(path);
  Cut cut;
  while (!parts.empty() && std::find(kWrappers.begin(), kWrappers.end(), parts.front()) != kWrappers.end()) {
    cut.prefix += std::string(parts.front()) + ".";
    parts.erase(parts.begin());
  }
  if (!parts.empty() && (parts.back() == "self_attn" || parts.back() == "attn")) parts.pop_back();
  const auto number = std::find_if(parts.rbegin(), parts.rend(), all_digits);
  if (number != parts.rend()) {
    const std::optional<int> layer = layer_number(*number);
    if (!layer) return {};
    cut.layer = *layer;
    parts.erase(std::next(number).base());
  }
  cut.label = parts.empty() ? names.stack : joined(parts);
  return cut;
}

/// Takes the number off the end of `text`.
std::optional<int> take_number(std::string_view& text) {
  std::size_t digits = text.size();
  while (digits > 0 && all_digits(text.substr(digits - 1, 1))) --digits;
  const std::optional<int> number = layer_number(text.substr(digits));
  text = text.substr(0, digits);
  return number;
}

bool take_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

/// The pattern of a row against a name up to its projection, which must end with it.
std::optional<Cut> cut_name(std::string_view base, const AttentionNames& names) {
  std::string_view pattern = names.layer;
  const bool free_path = pattern.starts_with(kPathMark);
  if (free_path) pattern.remove_prefix(kPathMark.size());
  const std::size_t mark = pattern.find(kLayerMark);
  Cut cut;
  if (mark == std::string_view::npos) {
    if (!take_end(base, pattern)) return {};
    if (free_path) return cut_path(base, names);
  } else {
    if (!take_end(base, pattern.substr(mark + kLayerMark.size()))) return {};
    const std::optional<int> layer = take_number(base);
    if (!layer || !take_end(base, pattern.substr(0, mark))) return {};
    cut.layer = *layer;
  }
  if (!base.empty() && base.back() != '.') return {};
  if (free_path) {
    std::optional<Cut> parent = cut_path(base, names);
    if (!parent || !without_numbers(base)) return {};
    parent->layer = cut.layer;
    return parent;
  }
  cut.prefix = std::string(base);
  return cut;
}

std::array<const std::string*, 5> projections(const AttentionNames& names) {
  return {&names.query, &names.key, &names.value, &names.fused, &names.output};
}

/// The names under which stacks of one kind of attention are told apart: what their prefixes do not share.
void label_stacks(std::vector<StackNames>& stacks) {
  for (StackNames& stack : stacks) {
    if (!stack.label.empty()) continue;
    std::vector<std::vector<std::string_view>> all;
    for (const StackNames& other : stacks)
      if (other.names == stack.names) all.push_back(components(other.prefix));
    std::vector<std::string_view> own = components(stack.prefix);
    const auto shared = [&](auto at) {
      return !own.empty() && std::all_of(all.begin(), all.end(), [&](auto& parts) {
        return !parts.empty() && *at(parts) == *at(own);
      });
    };
    const auto front = [](auto& parts) { return parts.begin(); };
    const auto back = [](auto& parts) { return std::prev(parts.end()); };
    while (all.size() > 1 && shared(front)) {
      own.erase(own.begin());
      for (auto& parts : all) parts.erase(parts.begin());
    }
    while (all.size() > 1 && shared(back)) {
      own.pop_back();
      for (auto& parts : all) parts.pop_back();
    }
    stack.label = all.size() > 1 && !own.empty() ? joined(own) : stack.names->stack;
  }
}

/// Two stacks of one kind of attention with one label get their prefixes back.
void keep_labels_apart(std::vector<StackNames>& stacks) {
  std::map<std::pair<std::string, std::string>, int> uses;
  for (const StackNames& stack : stacks) ++uses[{stack.names->attention, stack.label}];
  for (StackNames& stack : stacks)
    if (uses[{stack.names->attention, stack.label}] > 1) stack.label = stack.prefix + stack.label;
}

/// Whether some layer has what its queries are read from: an output projection alone is no attention layer.
bool has_queries(const StackNames& stack, const Container& container) {
  const std::string& own = stack.names->fused.empty() ? stack.names->query : stack.names->fused;
  return std::any_of(stack.layers.begin(), stack.layers.end(),
                     [&](const auto& layer) { return container.find(layer.second + own) != nullptr; });
}

bool looks_like_projection(const std::string& name) {
  constexpr std::array<std::string_view, 23> kMarks = {
      "q_proj", "k_proj", "v_proj",  "o_proj", "out_proj", "query", "qkv",        "Wqkv",
      "W_pack", "c_attn", "in_proj", "to_q",   "to_k",     "q_lin", "attention.", "Attention.",
      "attn.",  "wq.",    "wqkv",    "kv_a",   "kv_b",     "lora_", "mixer."};
  // Norms, biases and the causal masks that some files store (attn.bias, attn.causal_mask) live beside them.
  constexpr std::array<std::string_view, 3> kOthers = {"norm", "bias", "mask"};
  const auto in_name = [&](std::string_view mark) { return name.find(mark) != std::string::npos; };
  return std::any_of(kMarks.begin(), kMarks.end(), in_name) &&
         std::none_of(kOthers.begin(), kOthers.end(), in_name);
}

bool is_weight(const TensorEntry& tensor) { return tensor.shape.size() >= 2; }

std::string with_numbers_masked(const std::string& name) {
  std::string out;
  for (std::string_view part : components(name)) {
    if (!out.empty()) out += '.';
    out += all_digits(part) ? std::string_view("N") : part;
  }
  return out;
}

/// The orientation a row states against the shapes of one layer: queries must read what the output writes.
bool plausible_layer(const AttentionNames& names, const Container& container, const std::string& base) {
  const TensorEntry* in = container.find(base + (names.fused.empty() ? names.query : names.fused));
  const TensorEntry* out = container.find(base + names.output);
  if (!in || !out || in->shape.size() != 2 || out->shape.size() != 2) return false;
  return names.in_out ? in->shape[0] == out->shape[1] : in->shape[1] == out->shape[0];
}

}  // namespace

std::vector<StackNames> find_stacks(const Layout& layout, const Container& container, Prefixes prefixes) {
  std::map<std::pair<std::size_t, std::string>, StackNames> found;
  const auto place = [&](const std::string& name) {
    for (std::size_t kind = 0; kind < layout.attentions.size(); ++kind) {
      const AttentionNames& names = layout.attentions[kind];
      for (const std::string* own : projections(names)) {
        if (own->empty() || !name.ends_with(*own)) continue;
        const std::string base = name.substr(0, name.size() - own->size());
        // A free path would take any output projection for a layer: there only what queries are read from
        // counts.
        const bool names_queries = own == &names.query || own == &names.fused;
        if (names.layer.starts_with(kPathMark) && !names_queries) continue;
        const std::optional<Cut> cut = cut_name(base, names);
        if (!cut) continue;
        const bool allowed = !cut->label.empty() || made_of_known(cut->prefix, layout.prefixes) ||
                             (prefixes == Prefixes::any && without_numbers(cut->prefix));
        if (!allowed) continue;
        StackNames& stack = found[{kind, cut->prefix + "|" + cut->label}];
        stack.names = &names;
        stack.prefix = cut->prefix;
        stack.label = cut->label;
        stack.layers.emplace(cut->layer, base);
        return;
      }
    }
  };
  for (const auto& [name, tensor] : container.tensors()) place(name);
  std::vector<StackNames> stacks;
  for (auto& [key, stack] : found)
    if (has_queries(stack, container)) stacks.push_back(std::move(stack));
  label_stacks(stacks);
  keep_labels_apart(stacks);
  return stacks;
}

Fit fit_of(const Layout& layout, const Container& container, const std::vector<StackNames>& stacks) {
  Fit fit;
  std::set<const AttentionNames*> kinds;
  for (const StackNames& stack : stacks) {
    kinds.insert(stack.names);
    for (const auto& [number, base] : stack.layers) {
      int found = 0;
      for (const std::string* own : projections(*stack.names))
        if (!own->empty() && container.find(base + *own)) found += stack.names->fused.empty() ? 1 : 2;
      fit.tensors += found;
      if (plausible_layer(*stack.names, container, base)) fit.plausible += found;
    }
  }
  fit.missing_kinds = static_cast<int>(layout.attentions.size() - kinds.size());
  return fit;
}

std::vector<std::string> unused_projections(const Container& container,
                                            const std::vector<StackNames>& stacks) {
  std::set<std::string> used;
  for (const StackNames& stack : stacks)
    for (const auto& [number, base] : stack.layers)
      for (const std::string* own : projections(*stack.names))
        if (!own->empty()) used.insert(base + *own);
  std::set<std::string> patterns;
  for (const auto& [name, tensor] : container.tensors())
    if (is_weight(tensor) && !used.contains(name) && looks_like_projection(name))
      patterns.insert(with_numbers_masked(name));
  return {patterns.begin(), patterns.end()};
}

std::string listed(const std::vector<std::string>& names, std::size_t limit) {
  const std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(limit, names.size())));
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     names.size() > limit ? fmt::format(" and {} more", names.size() - limit) : "");
}

std::string explain_no_attention(const Container& container) {
  const auto& tensors = container.tensors();
  if (tensors.empty()) return "holds no tensors at all (metadata only), so there are no heads to audit";
  std::vector<std::string> first;
  for (const auto& [name, tensor] : tensors)
    first.push_back(fmt::format("{} {}", name, shape_text(tensor.shape)));
  const std::string text =
      fmt::format("holds no attention layer that a layout row names. Its tensors: {}", listed(first, 5));
  const std::vector<std::string> candidates = unused_projections(container, {});
  if (candidates.empty())
    return text + ". Nothing in it looks like an attention projection: is it the right file?";
  return fmt::format(
      "{}. Names that look like projections: {}. Describe them in a layout row and give it with "
      "--layout-file (--list-layouts --json - prints the built-in rows)",
      text, listed(candidates, 8));
}

}  // namespace headspan::checkpoint
