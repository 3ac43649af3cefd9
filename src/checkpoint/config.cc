#include "checkpoint/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "checkpoint/strict_json.h"
#include "headspan/numeric/io.h"

namespace headspan::checkpoint {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uint64_t kLargestConfig = 64ull << 20;
/// Far above any model; keeps products of two counts inside 64 bits.
constexpr std::uint64_t kLargestCount = std::uint64_t{1} << 30;

/// Sections that hold the numbers of a language model inside a composite one, in the order they are tried.
constexpr std::array kTextSections = {"text_config",     "llm_config",
                                      "language_config", "thinker_config.text_config",
                                      "thinker_config",  "model_args"};
constexpr std::array kSections = {
    "text_config",    "llm_config",    "language_config", "thinker_config.text_config",
    "thinker_config", "vision_config", "model_args"};
/// Sections that belong to the object they stand in.
constexpr std::array kParts = {"attn_config"};

const Json* member(const Json* object, const std::string& key) {
  if (!object || !object->is_object()) return nullptr;
  const auto it = object->find(key);
  return it == object->end() ? nullptr : &*it;
}

/// `key`, which may be dotted.
const Json* member_at(const Json* object, const std::string& key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return member(object, key);
  return member_at(member(object, key.substr(0, dot)), key.substr(dot + 1));
}

std::string without_suffix(const std::string& text, const std::string& suffix) {
  const bool ends = text.size() > suffix.size() && text.ends_with(suffix);
  return ends ? text.substr(0, text.size() - suffix.size()) : text;
}

bool speaks_of_heads(const ConfigScope& scope) {
  return scope.exists() &&
         (scope.has_any(config_aliases("n_heads")) || scope.has_any(config_aliases("d_model")));
}

std::string read_config_text(const std::string& path) {
  try {
    return read_text(path, kLargestConfig);
  } catch (const CheckpointError&) {
    throw;
  } catch (const FileError& error) {
    throw CheckpointError(error.fault(), error.place(), error.reason());
  }
}

}  // namespace

const std::vector<std::string>& config_aliases(const std::string& quantity) {
  static const std::map<std::string, std::vector<std::string>> aliases = {
      {"n_heads",
       {"num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads",
        "encoder_attention_heads"}},
      {"n_kv_heads",
       {"num_key_value_heads", "num_kv_heads", "n_head_kv", "n_kv_heads", "multi_query_group_num",
        "kv_n_heads"}},
      {"head_dim", {"head_dim", "d_kv", "d_head", "kv_channels", "attention_head_dim"}},
      {"d_model", {"hidden_size", "n_embd", "d_model", "dim", "dim_model"}},
      {"n_layers",
       {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "encoder_layers"}},
  };
  return aliases.at(quantity);
}

ConfigScope::ConfigScope(const Json* object, std::string file, std::string path, std::string section)
    : object_(object), file_(std::move(file)), path_(std::move(path)), section_(std::move(section)) {}

std::string ConfigScope::origin(const std::string& key) const {
  return section_.empty() ? file_ + ": " + key : file_ + ": " + section_ + "." + key;
}

const Json* ConfigScope::find(const std::string& key) const { return member(object_, key); }

std::string ConfigScope::model_type() const { return text("model_type").value_or(""); }

bool ConfigScope::has_any(const std::vector<std::string>& keys) const {
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    const Json* value = find(key);
    return value && !value->is_null();
  });
}

std::optional<std::string> ConfigScope::text(const std::string& key) const {
  const Json* value = find(key);
  for (const char* part : kParts)
    if (!value) value = member(find(part), key);
  if (!value || value->is_null() || value->is_structured()) return {};
  return value->is_string() ? value->get<std::string>() : value->dump();
}

std::int64_t ConfigScope::count(const std::string& key, const Json& value) const {
  const auto refuse = [&](const std::string& rule) {
    throw CheckpointError(FileFault::refused, {path_, section_.empty() ? key : section_ + "." + key, {}},
                          rule);
  };
  const std::string shown = value.dump().substr(0, 60);
  if (value.is_array())
    refuse(fmt::format(
        "is a list ({}): one value per layer is not read; give --heads, --kv-heads or --head-dim", shown));
  if (!value.is_number_integer())
    refuse(
        fmt::format("is {} where a whole number is expected; correct it, or override it with a flag", shown));
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > kLargestCount;
  if (too_large || value.get<std::int64_t>() <= 0)
    refuse(fmt::format("is {}: it must lie between 1 and {}; correct it, or override it with a flag", shown,
                       kLargestCount));
  return value.get<std::int64_t>();
}

ConfigNumber ConfigScope::number(const std::vector<std::string>& keys, bool must_agree) const {
  ConfigNumber found;
  const auto read = [&](const std::string& key, const Json* value) {
    if (!value || (found.value && !must_agree)) return;
    if (value->is_null()) {
      if (found.null_key.empty()) found.null_key = origin(key);
      return;
    }
    const std::int64_t held = count(key, *value);
    if (found.value && found.value->value != held)
      throw CheckpointError(
          FileFault::refused, {path_, key, {}},
          fmt::format("is {}, but {} is {}: two names of one quantity disagree; correct one, or give a flag",
                      held, found.value->origin, found.value->value));
    if (!found.value) found.value = Sourced{held, origin(key)};
  };
  for (const std::string& key : keys) read(key, find(key));
  for (const char* part : kParts)
    for (const std::string& key : keys) read(std::string(part) + "." + key, member(find(part), key));
  if (found.value) found.null_key.clear();
  return found;
}

Config Config::load(const std::string& path) {
  Config config;
  auto root = std::make_shared<const Json>(parse_strict_json(read_config_text(path), path));
  if (!root->is_object())
    throw CheckpointError(FileFault::malformed, {path, {}, {}}, "a configuration must be a JSON object");
  config.root_ = root;
  config.path_ = path;
  config.file_ = fs::path(path).filename().string();
  return config;
}

Config Config::beside(const std::string& weights_path) {
  std::error_code ignored;
  const fs::path weights(weights_path);
  std::vector<fs::path> places;
  if (fs::is_directory(weights, ignored)) {
    places.push_back(weights / "config.json");
  } else {
    std::string stem = weights.filename().string();
    for (const char* suffix : {".index.json", ".safetensors"}) stem = without_suffix(stem, suffix);
    places.push_back(weights.parent_path() / (stem + ".config.json"));
    places.push_back(weights.parent_path() / "config.json");
  }
  for (const fs::path& place : places)
    if (fs::exists(place, ignored)) return load(place.string());
  return {};
}

ConfigScope Config::top() const { return {root_.get(), file_, path_, ""}; }

ConfigScope Config::nested(const std::string& section) const {
  const Json* object = member_at(root_.get(), section);
  return object && object->is_object() ? ConfigScope(object, file_, path_, section) : ConfigScope();
}

std::vector<std::string> Config::model_types() const {
  std::vector<std::string> types;
  const auto add = [&](const ConfigScope& scope) {
    if (scope.exists() && !scope.model_type().empty()) types.push_back(scope.model_type());
  };
  add(top());
  for (const char* section : kSections) add(nested(section));
  for (const char* section : {"encoder", "decoder"}) add(nested(section));
  return types;
}

ConfigScope Config::named_like(const std::string& prefix) const {
  for (std::size_t start = 0; start < prefix.size();) {
    const std::size_t dot = std::min(prefix.find('.', start), prefix.size());
    const std::string part = prefix.substr(start, dot - start);
    const std::string base = without_suffix(without_suffix(part, "_model"), "_tower");
    for (const std::string& name : {part, part + "_config", base + "_config"})
      if (!part.empty() && speaks_of_heads(nested(name))) return nested(name);
    start = dot + 1;
  }
  return {};
}

ConfigScope Config::scope(const std::string& section, const std::string& prefix) const {
  if (!exists()) return {};
  if (!section.empty() && nested(section).exists()) return nested(section);
  if (ConfigScope own = named_like(prefix); own.exists()) return own;
  const bool top_has_heads = top().has_any(config_aliases("n_heads"));
  for (const char* name : kTextSections) {
    ConfigScope inner = nested(name);
    if (inner.exists() && (inner.has_any(config_aliases("n_heads")) || !top_has_heads)) return inner;
  }
  if (!speaks_of_heads(top()) && nested("vision_config").exists()) return nested("vision_config");
  return top();
}

}  // namespace headspan::checkpoint
