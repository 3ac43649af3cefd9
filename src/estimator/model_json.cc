#include "estimator/model_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "headspan/numeric/error.h"
#include "headspan/numeric/json.h"

namespace headspan::estimator {
namespace {

using Json = nlohmann::ordered_json;

Json column_object(const EncodedColumn& column) {
  return {{"name", column.name},
          {"category", column.is_category},
          {"fill", column.fill},
          {"missing", column.has_missing},
          {"levels", column.levels}};
}

EncodedColumn column_of(const nlohmann::json& object) {
  return {object.at("name"), object.at("category"), object.at("fill"), object.at("missing"),
          object.at("levels")};
}

Json decision_object(const ColumnDecision& decision) {
  return {{"name", decision.name},
          {"use", to_string(decision.use)},
          {"exclusion", to_string(decision.exclusion)},
          {"n_missing", decision.n_missing},
          {"n_levels", decision.n_levels},
          {"note", decision.note}};
}

/// The value of an enumeration whose last one is `last` and whose word is `word`.
template <class Enum>
Enum named(const std::string& word, Enum last) {
  for (int value = 0; value <= static_cast<int>(last); ++value)
    if (word == to_string(static_cast<Enum>(value))) return static_cast<Enum>(value);
  throw ArgumentError(fmt::format("'{}' is no word of this format", word));
}

ColumnDecision decision_of(const nlohmann::json& object) {
  return {object.at("name"),
          named(object.at("use"), ColumnUse::left_out),
          named(object.at("exclusion"), Exclusion::free_form),
          object.at("n_missing"),
          object.at("n_levels"),
          object.at("note")};
}

Json estimate_object(const MultiHead& estimate) {
  const Recipe& recipe = estimate.recipe;
  return {{"trend", recipe.trend},
          {"heads", to_string(recipe.heads)},
          {"combiner", to_string(recipe.combiner)},
          {"n_heads", recipe.n_heads},
          {"head_dim", recipe.head_dim},
          {"shrinkage", recipe.shrinkage},
          {"diversity_penalty", recipe.diversity_penalty},
          {"iterations", recipe.iterations},
          {"sharpen", recipe.sharpen},
          {"n_fitted", estimate.heads.size()}};
}

/// Heads are counted off `heads_left`.
MultiHead estimate_of(const nlohmann::json& object, std::size_t& heads_left) {
  MultiHead estimate;
  Recipe& recipe = estimate.recipe;
  recipe.trend = object.at("trend");
  recipe.heads = named(object.at("heads"), HeadKind::diagonal);
  recipe.combiner = named(object.at("combiner"), Combiner::least_squares);
  recipe.n_heads = object.at("n_heads");
  recipe.head_dim = object.at("head_dim");
  recipe.shrinkage = object.at("shrinkage");
  recipe.diversity_penalty = object.at("diversity_penalty");
  recipe.iterations = object.at("iterations");
  recipe.sharpen = object.value("sharpen", false);  // format 1 has none
  const std::size_t n_heads = object.at("n_fitted");
  if (n_heads > heads_left) throw ArgumentError(fmt::format("{} heads, more than there are arrays", n_heads));
  heads_left -= n_heads;
  estimate.heads.resize(n_heads);
  return estimate;
}

Json estimates_array(const Member& member) {
  Json list = Json::array();
  for (const MultiHead& estimate : member.estimates) list.push_back(estimate_object(estimate));
  return list;
}

Member member_of(const nlohmann::json& list, std::size_t& heads_left) {
  Member member;
  for (const nlohmann::json& object : list) member.estimates.push_back(estimate_of(object, heads_left));
  return member;
}

template <class Read>
void read_json(const std::string& text, const std::string& path, const char* key, Read read) {
  try {
    read(parse_json(text, path));
  } catch (const std::exception& error) {
    throw CheckpointError(
        FileFault::malformed, {path, key, {}},
        fmt::format("{}; no headspan writes this: get another copy, or fit again", error.what()));
  }
}

/// Input names follow from the columns; a file in which they do not agree was not written by save_model().
void check_widths(const Encoding& encoding) {
  if (encoding.width() != std::ssize(encoding.facts.inputs))
    throw ArgumentError(
        fmt::format("{} names for {} inputs", encoding.facts.inputs.size(), encoding.width()));
}

}  // namespace

std::string table_json(const TableModel& model) {
  Json columns = Json::array(), decisions = Json::array();
  for (const EncodedColumn& column : model.encoding.columns) columns.push_back(column_object(column));
  for (const ColumnDecision& decision : model.encoding.facts.columns)
    decisions.push_back(decision_object(decision));
  return Json{{"target", model.target},
              {"weight", model.weight ? Json(*model.weight) : Json()},
              {"not_inputs", model.encoding.not_inputs},
              {"inputs", model.encoding.facts.inputs},
              {"columns", std::move(columns)},
              {"decisions", std::move(decisions)}}
      .dump();
}

std::string structure_json(const Model& model) {
  Json folds = Json::array();
  for (const Member& member : model.folds) folds.push_back(estimates_array(member));
  return Json{{"ensemble", estimates_array(model.ensemble)}, {"folds", std::move(folds)}}.dump();
}

void read_table_json(const std::string& text, const std::string& path, TableModel& model) {
  read_json(text, path, "table", [&](const nlohmann::json& object) {
    model.target = object.at("target");
    if (!object.at("weight").is_null()) model.weight = object.at("weight").get<std::string>();
    Encoding& encoding = model.encoding;
    encoding.not_inputs = object.at("not_inputs").get<std::vector<std::string>>();
    encoding.facts.inputs = object.at("inputs").get<std::vector<std::string>>();
    for (const auto& column : object.at("columns")) encoding.columns.push_back(column_of(column));
    for (const auto& decision : object.at("decisions"))
      encoding.facts.columns.push_back(decision_of(decision));
    check_widths(encoding);
  });
}

void read_structure_json(const std::string& text, const std::string& path, std::size_t most_heads,
                         Model& model) {
  read_json(text, path, "structure", [&](const nlohmann::json& object) {
    std::size_t heads_left = most_heads;
    model.ensemble = member_of(object.at("ensemble"), heads_left);
    for (const auto& fold : object.at("folds")) model.folds.push_back(member_of(fold, heads_left));
  });
}

}  // namespace headspan::estimator
