// Layout rows to JSON and back. Keys are the member names; a key nobody reads is an error, so that a misspelt
// one cannot be ignored in silence.

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/strict_json.h"
#include "headspan/checkpoint/layout.h"
#include "headspan/numeric/error.h"

namespace headspan::checkpoint {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr std::array kCodes = {FusedCode::separate, FusedCode::sections, FusedCode::per_head,
                               FusedCode::per_group, FusedCode::qvk_slabs};

/// One JSON object of a row, read key by key; `finish` refuses the keys that were not asked for.
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string file, std::string where)
      : object_(object), file_(std::move(file)), where_(std::move(where)) {
    if (!object_.is_object()) fail("", "must be an object");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& rule) const {
    throw CheckpointError(FileFault::malformed, {file_, key.empty() ? where_ : where_ + "." + key, {}},
                          "layout: " + rule);
  }

  const Json* get(const std::string& key) {
    seen_.insert(key);
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  std::string text(const std::string& key, bool required = false) {
    const Json* value = get(key);
    if (!value && required) fail(key, "is required");
    if (!value) return {};
    if (!value->is_string()) fail(key, "must be a string");
    return value->get<std::string>();
  }
  bool flag(const std::string& key) {
    const Json* value = get(key);
    if (!value) return false;
    if (!value->is_boolean()) fail(key, "must be true or false");
    return value->get<bool>();
  }
  double number(const std::string& key) {
    const Json* value = get(key);
    if (!value) return 0.0;
    if (!value->is_number()) fail(key, "must be a number");
    return value->get<double>();
  }
  std::vector<std::string> texts(const std::string& key) {
    const Json* value = get(key);
    return value ? texts_of(*value, key) : std::vector<std::string>{};
  }
  std::vector<std::string> texts_of(const Json& value, const std::string& key) const {
    if (!value.is_array()) fail(key, "must be an array of strings");
    std::vector<std::string> out;
    for (const Json& item : value) {
      if (!item.is_string()) fail(key, "must be an array of strings");
      out.push_back(item.get<std::string>());
    }
    return out;
  }
  /// The members of an object under `key`, each given to `each(name, value)`.
  template <class Each>
  void members(const std::string& key, Each each) {
    const Json* value = get(key);
    if (!value) return;
    if (!value->is_object()) fail(key, "must be an object");
    for (const auto& [name, item] : value->items()) each(name, item);
  }
  std::string path_of(const std::string& key) const { return where_ + "." + key; }
  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (!seen_.contains(key))
        fail(key, "is not a key of a layout row; see headspan audit --list-layouts --json -");
  }

 private:
  const Json& object_;
  std::string file_, where_;
  std::set<std::string> seen_;
};

std::optional<NormNames> parse_norm(ObjectReader& parent, const std::string& key, const std::string& file) {
  const Json* value = parent.get(key);
  if (!value) return {};
  ObjectReader in(*value, file, parent.path_of(key));
  NormNames norm;
  norm.tensors = in.texts("tensors");
  if (norm.tensors.empty()) in.fail("tensors", "must name at least one tensor");
  norm.kind = in.text("kind", true);
  if (norm.kind != "rms" && norm.kind != "layer") in.fail("kind", "must be \"rms\" or \"layer\"");
  norm.gain_offset = in.number("gain_offset");
  norm.first_layer_identity = in.flag("first_layer_identity");
  in.finish();
  return norm;
}

FusedCode parse_code(ObjectReader& in) {
  const std::string text = in.text("code");
  if (text.empty()) return FusedCode::separate;
  for (FusedCode code : kCodes)
    if (text == to_string(code)) return code;
  in.fail("code", fmt::format("\"{}\" is not one of SEP, S3, I3, IG, QVK4", text));
}

void check_projections(const AttentionNames& names, const ObjectReader& in) {
  const bool fused = names.code != FusedCode::separate;
  if (fused && names.fused.empty()) in.fail("fused", "must name the fused matrix that `code` orders");
  if (fused && !(names.query.empty() && names.key.empty() && names.value.empty()))
    in.fail("query", "query, key and value cannot be named beside a fused matrix");
  if (!fused && !names.fused.empty()) in.fail("code", "must say how the fused matrix is ordered");
  if (!fused && (names.query.empty() || names.key.empty() || names.value.empty()))
    in.fail("query", "query, key and value must be named, or one fused matrix with its code");
  const std::size_t path = names.layer.find("{path}");
  if (path != std::string::npos && path != 0) in.fail("layer", "{path} may stand only at the beginning");
  if (path == 0 && names.layer.find("{layer}") != std::string::npos &&
      names.layer.find("{layer}") != names.layer.rfind("{layer}"))
    in.fail("layer", "{layer} may stand only once");
}

AttentionNames parse_attention(const Json& value, const std::string& file, const std::string& where) {
  ObjectReader in(value, file, where);
  AttentionNames names;
  names.stack = in.text("stack", true);
  names.attention = in.text("attention", true);
  if (names.attention != "self" && names.attention != "cross")
    in.fail("attention", "must be \"self\" or \"cross\"");
  names.layer = in.text("layer");
  names.query = in.text("query");
  names.key = in.text("key");
  names.value = in.text("value");
  names.fused = in.text("fused");
  names.output = in.text("output", true);
  names.code = parse_code(in);
  names.in_out = in.flag("in_out");
  names.input_norm = parse_norm(in, "input_norm", file);
  names.memory_norm = parse_norm(in, "memory_norm", file);
  names.query_norm = in.text("query_norm");
  names.key_norm = in.text("key_norm");
  names.qk_gain_offset = in.number("qk_gain_offset");
  names.config_section = in.text("config_section");
  in.members("config_keys", [&](const std::string& quantity, const Json& keys) {
    names.config_keys[quantity] = in.texts_of(keys, "config_keys." + quantity);
  });
  in.finish();
  check_projections(names, in);
  return names;
}

DefaultValue parse_default(const Json& value, const ObjectReader& in, const std::string& key) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "true" : "false");
  if (value.is_string()) return value.get<std::string>();
  in.fail(key, "must be a whole number or the name of a rule");
}

Layout parse_row(const Json& value, const std::string& file, const std::string& where) {
  ObjectReader in(value, file, where);
  Layout row;
  row.name = in.text("name", true);
  row.title = in.text("title");
  row.model_types = in.texts("model_types");
  row.needs_model_type = in.flag("needs_model_type");
  row.prefixes = in.texts("prefixes");
  row.shared_layers = in.text("shared_layers");
  in.members("when", [&](const std::string& key, const Json& item) {
    row.when[key] = item.is_string() ? item.get<std::string>() : item.dump();
  });
  in.members("fixed", [&](const std::string& key, const Json& item) {
    if (!item.is_number_integer()) in.fail("fixed." + key, "must be a whole number");
    row.fixed[key] = item.get<std::int64_t>();
  });
  in.members("defaults", [&](const std::string& type, const Json& item) {
    if (!item.is_object()) in.fail("defaults." + type, "must be an object");
    for (const auto& [key, number] : item.items())
      row.defaults[type][key] = parse_default(number, in, fmt::format("defaults.{}.{}", type, key));
  });
  const Json* attentions = in.get("attentions");
  if (!attentions || !attentions->is_array() || attentions->empty())
    in.fail("attentions", "must be an array of at least one kind of attention");
  for (std::size_t i = 0; i < attentions->size(); ++i)
    row.attentions.push_back(
        parse_attention((*attentions)[i], file, fmt::format("{}.attentions[{}]", where, i)));
  in.finish();
  return row;
}

void put(Ordered& out, const char* key, const std::string& text) {
  if (!text.empty()) out[key] = text;
}

Ordered norm_json(const NormNames& norm) {
  Ordered out;
  out["tensors"] = norm.tensors;
  out["kind"] = norm.kind;
  if (norm.gain_offset != 0.0) out["gain_offset"] = norm.gain_offset;
  if (norm.first_layer_identity) out["first_layer_identity"] = true;
  return out;
}

Ordered attention_json(const AttentionNames& names) {
  Ordered out;
  out["stack"] = names.stack;
  out["attention"] = names.attention;
  out["layer"] = names.layer;
  put(out, "query", names.query);
  put(out, "key", names.key);
  put(out, "value", names.value);
  put(out, "fused", names.fused);
  out["output"] = names.output;
  out["code"] = to_string(names.code);
  if (names.in_out) out["in_out"] = true;
  if (names.input_norm) out["input_norm"] = norm_json(*names.input_norm);
  if (names.memory_norm) out["memory_norm"] = norm_json(*names.memory_norm);
  put(out, "query_norm", names.query_norm);
  put(out, "key_norm", names.key_norm);
  if (names.qk_gain_offset != 0.0) out["qk_gain_offset"] = names.qk_gain_offset;
  put(out, "config_section", names.config_section);
  if (!names.config_keys.empty()) out["config_keys"] = names.config_keys;
  return out;
}

Ordered row_json(const Layout& row) {
  Ordered out;
  out["name"] = row.name;
  put(out, "title", row.title);
  out["model_types"] = row.model_types;
  if (row.needs_model_type) out["needs_model_type"] = true;
  if (!row.when.empty()) out["when"] = row.when;
  if (!row.prefixes.empty()) out["prefixes"] = row.prefixes;
  out["attentions"] = Ordered::array();
  for (const AttentionNames& names : row.attentions) out["attentions"].push_back(attention_json(names));
  for (const auto& [type, defaults] : row.defaults)
    for (const auto& [key, value] : defaults)
      std::visit([&, &type = type, &key = key](const auto& held) { out["defaults"][type][key] = held; },
                 value);
  if (!row.fixed.empty()) out["fixed"] = row.fixed;
  put(out, "shared_layers", row.shared_layers);
  return out;
}

}  // namespace

std::vector<Layout> parse_layouts(const std::string& json, const std::string& path) {
  const Json document = parse_strict_json(json, path);
  const Json* rows = &document;
  if (document.is_object() && document.contains("layouts")) rows = &document["layouts"];
  if (rows->is_object()) return {parse_row(*rows, path, "layout")};
  if (!rows->is_array())
    throw CheckpointError(FileFault::malformed, {path, "layouts", {}},
                          "must be an array of layout rows, or one row");
  if (rows->empty())
    throw CheckpointError(
        FileFault::malformed, {path, "layouts", {}},
        "holds no layout row; headspan audit --list-layouts --json - prints the built-in ones");
  std::vector<Layout> out;
  std::set<std::string> names;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    out.push_back(parse_row((*rows)[i], path, fmt::format("layouts[{}]", i)));
    if (!names.insert(out.back().name).second)
      throw CheckpointError(FileFault::malformed, {path, fmt::format("layouts[{}].name", i), {}},
                            fmt::format("layout: the name \"{}\" is used twice", out.back().name));
  }
  return out;
}

std::string layouts_json(const std::vector<Layout>& layouts) {
  Ordered out;
  out["layouts"] = Ordered::array();
  for (const Layout& row : layouts) out["layouts"].push_back(row_json(row));
  return out.dump(2) + "\n";
}

}  // namespace headspan::checkpoint
