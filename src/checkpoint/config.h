#pragma once
// The configuration beside a checkpoint: sections, aliases, and whole numbers with their origin.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headspan/checkpoint/model.h"

namespace headspan::checkpoint {

/// What a key holds. `null_key` is set where the only key present is an explicit null.
struct ConfigNumber {
  std::optional<Sourced> value;
  std::string null_key;
};

/// One object of a configuration, from which the numbers of one stack are read.
class ConfigScope {
 public:
  ConfigScope() = default;
  ConfigScope(const nlohmann::json* object, std::string file, std::string path, std::string section);

  bool exists() const { return object_ != nullptr; }
  const std::string& section() const { return section_; }
  /// model_type of this object, or empty.
  std::string model_type() const;
  /// True where one of the keys is present and not null.
  bool has_any(const std::vector<std::string>& keys) const;
  /// The first of `keys` present; a positive whole number. Throws CheckpointError refused for anything else,
  /// and, if they must agree, where two of the keys are present with different values.
  ConfigNumber number(const std::vector<std::string>& keys, bool must_agree) const;
  /// A scalar as text ("true", "2", "alibi"); empty where absent or null.
  std::optional<std::string> text(const std::string& key) const;
  /// The value of `key`, or nullptr.
  const nlohmann::json* find(const std::string& key) const;

 private:
  std::string origin(const std::string& key) const;
  std::int64_t count(const std::string& key, const nlohmann::json& value) const;

  const nlohmann::json* object_ = nullptr;
  std::string file_, path_, section_;
};

/// A configuration file, or the absence of one.
class Config {
 public:
  Config() = default;
  /// Throws CheckpointError naming `path`.
  static Config load(const std::string& path);
  /// config.json in a directory or beside the weights; STEM.config.json beside a lone file comes first. None:
  /// absent.
  static Config beside(const std::string& weights_path);

  bool exists() const { return root_ != nullptr; }
  const std::string& path() const { return path_; }
  /// Top level, then nested sections that state a model_type.
  std::vector<std::string> model_types() const;
  ConfigScope top() const;
  /// The object for a stack: its named section; else one named like a component of the stack's prefix; else
  /// the top level or the first known nested section that speaks of heads or widths.
  ConfigScope scope(const std::string& section, const std::string& prefix) const;

 private:
  ConfigScope nested(const std::string& section) const;
  ConfigScope named_like(const std::string& prefix) const;

  std::shared_ptr<const nlohmann::json> root_;
  std::string path_, file_;
};

/// The keys under which configurations state a quantity (n_heads, n_kv_heads, head_dim, d_model, n_layers).
const std::vector<std::string>& config_aliases(const std::string& quantity);

}  // namespace headspan::checkpoint
