// Tables of numbers and words as inputs of a regression, from columns that Python hands over.

#include "headspan/estimator/encoding.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headspan/estimator/model_file.h"
#include "python/bindings/arrays.h"
#include "python/bindings/call.h"
#include "python/bindings/state.h"

namespace headspan::python {
namespace {

using namespace nb::literals;
using namespace estimator;

using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::device::cpu, nb::c_contig>;

void add_numbers(const Numbers& numbers, table::Column& column, table::ColumnFacts& facts) {
  column.values.assign(numbers.data(), numbers.data() + numbers.shape(0));
  for (const double value : column.values) {
    if (std::isnan(value)) ++facts.n_missing;
    if (std::isinf(value)) ++facts.n_infinite;
  }
  const bool is_empty = facts.n_missing == std::ssize(column.values);
  facts.type = is_empty ? table::ColumnType::empty : table::ColumnType::number;
}

void add_words(const Codes& codes, std::vector<std::string> levels, table::Column& column,
               table::ColumnFacts& facts) {
  column.codes.assign(codes.data(), codes.data() + codes.shape(0));
  column.level_counts.assign(levels.size(), 0);
  for (std::size_t i = 0; i < column.codes.size(); ++i) {
    const std::int32_t code = column.codes[i];
    if (code == table::kMissingCode) {
      ++facts.n_missing;
      continue;
    }
    ++column.level_counts.at(static_cast<std::size_t>(code));
    // The first word is what an error quotes where numbers were wanted.
    if (!facts.misfit)
      facts.misfit = {0, static_cast<std::int64_t>(i) + 1, levels[static_cast<std::size_t>(code)]};
    ++facts.misfit->n_rows;
  }
  facts.n_levels = std::ssize(levels);
  facts.type = levels.empty() ? table::ColumnType::empty : table::ColumnType::text;
  column.levels = std::move(levels);
}

/// Its lines are the rows, counted from 1.
table::Table table_of(const std::vector<nb::tuple>& columns, Index n_rows) {
  table::Table out;
  out.understood.path = std::string("X");  // GCC 12 takes an assigned literal for an overlap
  out.understood.n_rows = n_rows;
  for (const nb::tuple& given : columns) {
    table::Column column;
    table::ColumnFacts facts;
    facts.name = nb::cast<std::string>(given[0]);
    if (given[1].is_none())
      add_words(nb::cast<Codes>(given[2]), nb::cast<std::vector<std::string>>(given[3]), column, facts);
    else
      add_numbers(nb::cast<Numbers>(given[1]), column, facts);
    out.columns.push_back(std::move(column));
    out.understood.columns.push_back(std::move(facts));
  }
  for (Index i = 1; i <= n_rows; ++i) out.lines.push_back(i);
  return out;
}

/// A table in memory is an argument and no file.
template <class Work>
auto as_argument(const Work& work) {
  try {
    return work();
  } catch (const DataError& error) {
    throw ArgumentError(error.what());
  }
}

/// Columns of numbers are used even where they say nothing or the same as another: a caller who built a
/// matrix wants all of it.
Encoding learn(const std::vector<nb::tuple>& columns, const Numbers& target, const Numbers& weight) {
  const table::Table table = table_of(columns, static_cast<Index>(target.shape(0)));
  EncodingOptions options;
  for (const table::ColumnFacts& facts : table.understood.columns)
    if (facts.type == table::ColumnType::number) options.keep.push_back(facts.name);
  return as_argument([&] {
    return call(1,
                [&] { return learn_encoding(table, all_rows(table), view(target), view(weight), options); });
  });
}

nb::object apply(const Encoding& encoding, const std::vector<nb::tuple>& columns, Index n_rows) {
  const table::Table table = table_of(columns, n_rows);
  return as_argument(
      [&] { return handed_over(call(1, [&] { return encode(encoding, table, all_rows(table)).x; })); });
}

/// Of the training table, used or not.
std::vector<std::string> column_names(const Encoding& encoding) {
  std::vector<std::string> out;
  for (const ColumnDecision& column : encoding.facts.columns) out.push_back(column.name);
  return out;
}

/// Name, reason and note of what is not used.
nb::list left_out(const Encoding& encoding) {
  nb::list out;
  for (const ColumnDecision& column : encoding.facts.columns)
    if (column.use == ColumnUse::left_out)
      out.append(nb::make_tuple(column.name, to_string(column.exclusion), column.note));
  return out;
}

nb::dict state_of(const Encoding& encoding) {
  nb::list columns, decisions;
  for (const EncodedColumn& column : encoding.columns) {
    nb::dict one;
    one["name"] = column.name;
    one["is_category"] = column.is_category;
    one["fill"] = column.fill;
    one["has_missing"] = column.has_missing;
    one["levels"] = nb::cast(column.levels);
    columns.append(one);
  }
  for (const ColumnDecision& column : encoding.facts.columns) {
    nb::dict one;
    one["name"] = column.name;
    one["use"] = static_cast<int>(column.use);
    one["exclusion"] = static_cast<int>(column.exclusion);
    one["n_missing"] = column.n_missing;
    one["n_levels"] = column.n_levels;
    one["note"] = column.note;
    decisions.append(one);
  }
  nb::dict out;
  out["version"] = kStateVersion;
  out["columns"] = columns;
  out["decisions"] = decisions;
  out["inputs"] = nb::cast(encoding.facts.inputs);
  return out;
}

Encoding encoding_from(const nb::dict& state) {
  check_version(state);
  Encoding out;
  for (const nb::handle item : nb::cast<nb::list>(state["columns"])) {
    const auto one = nb::cast<nb::dict>(item);
    out.columns.push_back({nb::cast<std::string>(one["name"]), nb::cast<bool>(one["is_category"]),
                           nb::cast<double>(one["fill"]), nb::cast<bool>(one["has_missing"]),
                           nb::cast<std::vector<std::string>>(one["levels"])});
  }
  for (const nb::handle item : nb::cast<nb::list>(state["decisions"])) {
    const auto one = nb::cast<nb::dict>(item);
    out.facts.columns.push_back(
        {nb::cast<std::string>(one["name"]), static_cast<ColumnUse>(nb::cast<int>(one["use"])),
         static_cast<Exclusion>(nb::cast<int>(one["exclusion"])), nb::cast<std::int64_t>(one["n_missing"]),
         nb::cast<std::int64_t>(one["n_levels"]), nb::cast<std::string>(one["note"])});
  }
  out.facts.inputs = nb::cast<std::vector<std::string>>(state["inputs"]);
  return out;
}

void save(const std::string& path, const std::string& target, const Encoding& encoding, const Model& model,
          const std::string& written_by) {
  call(1, [&] { save_model(path, {target, std::nullopt, encoding, model, written_by}); });
}

/// Target, encoding, model.
nb::tuple load(const std::string& path) {
  TableModel found = call(1, [&] { return load_model(path); });
  return nb::make_tuple(found.target, std::move(found.encoding), std::move(found.model));
}

}  // namespace

void bind_encoding(nb::module_& module) {
  nb::class_<Encoding>(module, "Encoding")
      .def_prop_ro("inputs", [](const Encoding& encoding) { return encoding.facts.inputs; })
      .def_prop_ro("columns", &column_names)
      .def_prop_ro("left_out", &left_out)
      .def("encode", &apply, "columns"_a, "n_rows"_a)
      .def("__getstate__", &state_of)
      .def("__setstate__",
           [](Encoding& encoding, const nb::dict& state) { new (&encoding) Encoding(encoding_from(state)); });
  module.def("learn_encoding", &learn, "columns"_a, "target"_a, "weight"_a);
  module.def("save_model", &save, "path"_a, "target"_a, "encoding"_a, "model"_a, "written_by"_a);
  module.def("load_model", &load, "path"_a);
}

}  // namespace headspan::python
