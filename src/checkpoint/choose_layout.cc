#include "checkpoint/choose_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

#include "checkpoint/counts.h"

namespace headspan::checkpoint {
namespace {

using Rows = std::vector<const Layout*>;

struct Best {
  const Layout* row = nullptr;
  Prefixes prefixes = Prefixes::known;
};

std::string default_text(const DefaultValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number ? std::to_string(*number) : std::get<std::string>(value);
}

bool conditions_hold(const Layout& row, const Config& config) {
  const ConfigScope scope = config.scope("", "");
  return std::all_of(row.when.begin(), row.when.end(), [&](const auto& condition) {
    if (const auto stated = scope.exists() ? scope.text(condition.first) : std::nullopt)
      return *stated == condition.second;
    const auto absent = class_default(row, config, scope, condition.first);
    return absent && default_text(absent->value) == condition.second;
  });
}

bool has_type(const Layout& row, const std::vector<std::string>& types) {
  return std::any_of(types.begin(), types.end(), [&](const std::string& type) {
    return std::find(row.model_types.begin(), row.model_types.end(), type) != row.model_types.end();
  });
}

/// The row that fits best; earlier rows win ties. `by_shape`: orientation counts before the number of names.
Best best_of(const Rows& rows, const Container& container, bool by_shape) {
  for (Prefixes prefixes : {Prefixes::known, Prefixes::any}) {
    Best best{nullptr, prefixes};
    std::tuple<int, int, int> best_score{};
    for (const Layout* row : rows) {
      const Fit fit = fit_of(*row, container, find_stacks(*row, container, prefixes));
      const std::tuple score{by_shape ? fit.plausible : 0, fit.tensors, -fit.missing_kinds};
      if (fit.tensors == 0 || (best.row && score <= best_score)) continue;
      best.row = row;
      best_score = score;
    }
    if (best.row) return best;
  }
  return {};
}

Rows filtered(const std::vector<Layout>& rows, const std::function<bool(const Layout&)>& keep) {
  Rows kept;
  for (const Layout& row : rows)
    if (keep(row)) kept.push_back(&row);
  return kept;
}

const Layout& forced_row(const ModelOptions& options) {
  std::vector<std::string> names;
  for (const auto* rows : {&options.layouts, &builtin_layouts()})
    for (const Layout& row : *rows) {
      if (row.name == options.layout_name) return row;
      names.push_back(row.name);
    }
  throw ArgumentError(fmt::format("layout \"{}\" is not known; the names are {}", options.layout_name,
                                  fmt::join(names, ", ")));
}

LayoutChoice forced_choice(const Container& container, const ModelOptions& options) {
  const Layout& row = forced_row(options);
  const Best best = best_of({&row}, container, false);
  if (!best.row)
    throw CheckpointError(FileFault::refused, {container.path(), {}, {}},
                          fmt::format("layout {} names no attention projection here; it {}", row.name,
                                      explain_no_attention(container)));
  return {row, best.prefixes, {"layout " + row.name + " as asked"}};
}

}  // namespace

LayoutChoice choose_layout(const Container& container, const ModelOptions& options, const Config& config) {
  if (!options.layout_name.empty()) return forced_choice(container, options);
  const std::vector<std::string> types = config.model_types();
  const auto by_name = [&](const Layout& row) {
    return (!row.needs_model_type || has_type(row, types)) && conditions_hold(row, config);
  };
  const auto by_type = [&](const Layout& row) {
    return has_type(row, types) && conditions_hold(row, config);
  };

  // The user's rows first, and among them as among the built-in ones the stated model_type before the names.
  for (const bool by_shape : {false, true}) {
    const Rows rows = by_shape ? filtered(options.layouts, by_name) : filtered(options.layouts, by_type);
    if (const Best best = best_of(rows, container, by_shape); best.row)
      return {*best.row, best.prefixes, {"layout " + best.row->name + " from the user's file"}};
  }
  if (const Best best = best_of(filtered(builtin_layouts(), by_type), container, false); best.row)
    return {*best.row, best.prefixes, {}};
  const Best best = best_of(filtered(builtin_layouts(), by_name), container, true);
  if (!best.row)
    throw CheckpointError(FileFault::refused, {container.path(), {}, {}}, explain_no_attention(container));
  const std::string why = types.empty()
                              ? "no model_type is stated"
                              : fmt::format("no row for model_type {} fits", fmt::join(types, ", "));
  return {*best.row,
          best.prefixes,
          {fmt::format("layout {} chosen by tensor names, since {}; its order and norms are assumed",
                       best.row->name, why)}};
}

}  // namespace headspan::checkpoint
