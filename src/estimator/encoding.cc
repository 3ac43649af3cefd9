#include "headspan/estimator/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "estimator/column_profile.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

constexpr double kLevelShare = 1.0 / 200.0;  // of the rows, for a level to have an input ...
constexpr double kLevelRows = 10.0;          // ... or so many of them
constexpr double kDateShare = 0.9;           // of the levels, for a column of dates
constexpr std::size_t kColumnsListed = 8;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_finite(const table::Table& table, std::size_t column, const std::vector<Index>& rows) {
  if (table.understood.columns[column].type != table::ColumnType::number) return;
  for (const Index row : rows) {
    const auto at = static_cast<std::size_t>(row);
    if (!std::isinf(table.columns[column].values[at])) continue;
    throw DataError(FileFault::refused,
                    {table.understood.path,
                     fmt::format("column '{}'", table.understood.columns[column].name),
                     {},
                     static_cast<std::uint64_t>(table.lines[at])},
                    "an infinite value, or one beyond the largest double; correct it, leave it empty if it "
                    "is missing, or leave the column out");
  }
}

/// The rows that count, and by how much.
struct Sample {
  std::vector<Index> rows;
  std::vector<double> target, weight;
  double total = 0.0;
  double fewest() const { return std::min(kLevelRows, kLevelShare * total); }
};

Sample sample_of(const std::vector<Index>& rows, VectorView target, VectorView weight) {
  const Index n = std::ssize(rows);
  if (target.size() != n)
    throw ArgumentError(fmt::format("target: has {} values for {} rows", target.size(), n));
  if (weight.size() != 0 && weight.size() != n)
    throw ArgumentError(fmt::format("weight: has {} values for {} rows", weight.size(), n));
  Sample sample;
  for (Index i = 0; i < n; ++i) {
    const double count = weight.size() == 0 ? 1.0 : weight[i];
    if (count == 0.0) continue;
    sample.rows.push_back(rows[static_cast<std::size_t>(i)]);
    sample.target.push_back(target[i]);
    sample.weight.push_back(count);
    sample.total += count;
  }
  return sample;
}

/// Half of the weight lies on either side.
double weighted_median(const std::vector<double>& values, const std::vector<double>& weight) {
  std::vector<std::pair<double, double>> sorted;
  double total = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    sorted.emplace_back(values[i], weight[i]);
    total += weight[i];
  }
  std::sort(sorted.begin(), sorted.end());
  double below = 0.0;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    below += sorted[i].second;
    if (2.0 * below > total) return sorted[i].first;
    if (2.0 * below == total) return std::midpoint(sorted[i].first, sorted[i + 1].first);
  }
  return sorted.back().first;
}

double missing_weight(const ColumnProfile& profile, const Sample& sample) {
  double sum = 0.0;
  for (std::size_t i = 0; i < profile.values.size(); ++i)
    if (std::isnan(profile.values[i])) sum += sample.weight[i];
  return sum;
}

/// Levels that rows enough have, sorted.
std::vector<std::string> frequent_levels(const table::Column& column, const Sample& sample) {
  std::map<std::string, double> counts;
  for (std::size_t i = 0; i < sample.rows.size(); ++i) {
    const std::int32_t code = column.codes[static_cast<std::size_t>(sample.rows[i])];
    if (code != table::kMissingCode)
      counts[column.levels[static_cast<std::size_t>(code)]] += sample.weight[i];
  }
  std::vector<std::string> levels;
  for (const auto& [level, count] : counts)
    if (count >= sample.fewest()) levels.push_back(level);
  return levels;
}

bool are_dates(const table::Column& column, const Sample& sample) {
  std::vector<bool> seen(column.levels.size());
  for (const Index row : sample.rows) {
    const std::int32_t code = column.codes[static_cast<std::size_t>(row)];
    if (code != table::kMissingCode) seen[static_cast<std::size_t>(code)] = true;
  }
  double n_dates = 0.0, n_levels = 0.0;
  for (std::size_t level = 0; level < seen.size(); ++level) {
    if (!seen[level]) continue;
    n_levels += 1.0;
    if (is_date(column.levels[level])) n_dates += 1.0;
  }
  return n_dates >= kDateShare * n_levels;
}

EncodedColumn encoded_column(const std::string& name, const table::Column& column,
                             const ColumnProfile& profile, const Sample& sample) {
  EncodedColumn out{name, profile.is_text, 0.0, false, {}};
  out.has_missing = profile.n_missing > 0 && missing_weight(profile, sample) >= sample.fewest();
  if (profile.is_text)
    out.levels = frequent_levels(column, sample);
  else
    out.fill = weighted_median(profile.values, sample.weight);
  return out;
}

void name_inputs(const EncodedColumn& column, std::vector<std::string>& names) {
  const std::string missing = fmt::format("{} missing", column.name);
  if (!column.is_category) {
    names.push_back(column.name);
    if (column.has_missing) names.push_back(missing);
    return;
  }
  std::vector<std::string> levels;
  for (const std::string& level : column.levels) levels.push_back(fmt::format("{} = {}", column.name, level));
  if (column.has_missing) levels.push_back(missing);
  // Of two levels the one input is greater for the second.
  names.insert(names.end(), levels.size() == 2 ? levels.begin() + 1 : levels.begin(), levels.end());
}

/// Decides column by column; what earlier ones say is remembered, to find those that repeat it.
class Learner {
 public:
  Learner(const table::Table& table, const Sample& sample, const EncodingOptions& options)
      : table_(table), sample_(sample), options_(options) {
    for (const auto* names : {&options.not_inputs, &options.drop, &options.keep})
      for (const std::string& name : *names) table::column_index(table, name);
  }

  Encoding learn() {
    for (const table::ColumnFacts& facts : table_.understood.columns)
      if (!contains(options_.not_inputs, facts.name)) add(facts);
    if (encoding_.columns.empty()) fail_without_columns();
    encoding_.not_inputs = options_.not_inputs;
    return std::move(encoding_);
  }

 private:
  void add(const table::ColumnFacts& facts) {
    ColumnDecision decision;
    decision.name = facts.name;
    if (contains(options_.drop, facts.name)) {
      decision.exclusion = Exclusion::asked;
      encoding_.facts.columns.push_back(std::move(decision));
      return;
    }
    const std::size_t at = table::column_index(table_, facts.name);
    check_finite(table_, at, sample_.rows);
    ColumnProfile profile = profile_of(table_, at, sample_.rows);
    decision.n_missing = profile.n_missing;
    decision.n_levels = profile.is_text ? profile.n_distinct : 0;
    exclude(at, profile, decision);
    if (decision.exclusion == Exclusion::none ||
        (contains(options_.keep, facts.name) && decision.exclusion != Exclusion::empty))
      use(at, std::move(profile), decision);
    encoding_.facts.columns.push_back(std::move(decision));
  }

  void use(std::size_t at, ColumnProfile profile, ColumnDecision& decision) {
    EncodedColumn column = encoded_column(decision.name, table_.columns[at], profile, sample_);
    if (column.width() == 0) {
      decision.exclusion = Exclusion::free_form;
      decision.note = "every level is too rare to have an input";
      return;
    }
    decision.use = profile.is_text ? ColumnUse::category : ColumnUse::number;
    name_inputs(column, encoding_.facts.inputs);
    encoding_.columns.push_back(std::move(column));
    profiles_.push_back(std::move(profile));
  }

  void exclude(std::size_t at, const ColumnProfile& profile, ColumnDecision& decision) const {
    const auto say = [&](Exclusion exclusion, std::string note) {
      decision.exclusion = exclusion;
      decision.note = std::move(note);
    };
    if (profile.n_distinct == 0) return say(Exclusion::empty, "no training row has a value");
    if (profile.n_distinct == 1 && profile.n_missing == 0)
      return say(Exclusion::constant, "the same value in every training row");
    if ((!profile.is_text || profile.n_distinct == 2) && is_affine_copy(profile.values, sample_.target))
      return say(
          Exclusion::leak,
          "the target is an affine function of it, which no honest input is; keep it only if its value "
          "is known before the target's");
    if (profile.is_text) {
      exclude_text(at, profile, decision);
      if (decision.exclusion != Exclusion::none) return;
    }
    for (std::size_t j = 0; j < profiles_.size(); ++j)
      if (say_the_same(profiles_[j], profile))
        return say(Exclusion::duplicate,
                   fmt::format("says what column '{}' says", encoding_.columns[j].name));
  }

  void exclude_text(std::size_t at, const ColumnProfile& profile, ColumnDecision& decision) const {
    const auto& misfit = table_.understood.columns[at].misfit;
    const Index n_present = std::ssize(sample_.rows) - profile.n_missing;
    if (misfit && 2 * misfit->n_rows < n_present)
      decision.note = fmt::format(
          "most cells are numbers, but {} {} not, the first on line {}: '{}'; correct what is wrong, or say "
          "that it means a missing value",
          misfit->n_rows, misfit->n_rows == 1 ? "is" : "are", misfit->line, misfit->text);
    if (are_dates(table_.columns[at], sample_)) {
      decision.exclusion = Exclusion::dates;
      decision.note = "dates or times; give what matters of them as numbers, such as the year";
      return;
    }
    const bool has_many_levels =
        profile.n_distinct > options_.max_levels ||
        options_.rows_per_level * static_cast<double>(profile.n_distinct) > static_cast<double>(n_present);
    if (!has_many_levels) return;
    decision.exclusion = Exclusion::free_form;
    if (decision.note.empty())
      decision.note = fmt::format("text with {} levels in {} rows", profile.n_distinct, n_present);
  }

  [[noreturn]] void fail_without_columns() const {
    const auto& columns = encoding_.facts.columns;
    std::string list;
    for (std::size_t j = 0; j < std::min(columns.size(), kColumnsListed); ++j)
      list +=
          fmt::format("{}'{}' ({})", j == 0 ? "" : ", ", columns[j].name, to_string(columns[j].exclusion));
    if (columns.size() > kColumnsListed) list += fmt::format(" and {} more", columns.size() - kColumnsListed);
    throw DataError(FileFault::refused, {table_.understood.path, {}, {}},
                    list.empty()
                        ? "there is no column but the target; a regression needs another"
                        : fmt::format("no column is left to predict from: {}; keep one by name to use "
                                      "it all the same",
                                      list));
  }

  const table::Table& table_;
  const Sample& sample_;
  const EncodingOptions& options_;
  Encoding encoding_;
  std::vector<ColumnProfile> profiles_;  // of encoding_.columns
};

}  // namespace

const char* to_string(ColumnUse use) {
  switch (use) {
    case ColumnUse::number:
      return "number";
    case ColumnUse::category:
      return "category";
    case ColumnUse::left_out:
      return "left out";
  }
  throw ArgumentError("to_string(ColumnUse): value outside the enumeration");
}

const char* to_string(Exclusion exclusion) {
  switch (exclusion) {
    case Exclusion::none:
      return "none";
    case Exclusion::asked:
      return "asked";
    case Exclusion::empty:
      return "empty";
    case Exclusion::constant:
      return "constant";
    case Exclusion::duplicate:
      return "duplicate";
    case Exclusion::leak:
      return "leak";
    case Exclusion::dates:
      return "dates";
    case Exclusion::free_form:
      return "free form";
  }
  throw ArgumentError("to_string(Exclusion): value outside the enumeration");
}

Encoding learn_encoding(const table::Table& table, const std::vector<Index>& rows, VectorView target,
                        VectorView weight, const EncodingOptions& options) {
  const Sample sample = sample_of(rows, target, weight);
  return Learner(table, sample, options).learn();
}

}  // namespace headspan::estimator
