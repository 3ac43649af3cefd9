#include "estimator/column_profile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "estimator/spread.h"

namespace headspan::estimator {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kCopyTolerance = 3e-5;  // standard deviations: 1 - |correlation| < 1e-9
constexpr Index kFewestToCompare = 3;

ColumnProfile text_profile(const table::Column& column, const std::vector<Index>& rows) {
  ColumnProfile profile;
  profile.is_text = true;
  std::vector<double> place(column.levels.size(), kNaN);
  for (const Index row : rows) {
    const std::int32_t code = column.codes[static_cast<std::size_t>(row)];
    if (code == table::kMissingCode) {
      profile.values.push_back(kNaN);
      continue;
    }
    double& at = place[static_cast<std::size_t>(code)];
    if (std::isnan(at)) at = static_cast<double>(profile.n_distinct++);
    profile.values.push_back(at);
  }
  return profile;
}

ColumnProfile number_profile(const table::Column& column, const std::vector<Index>& rows) {
  ColumnProfile profile;
  double first = kNaN;
  for (const Index row : rows) {
    const double value = column.values[static_cast<std::size_t>(row)];
    profile.values.push_back(value);
    if (std::isnan(value)) continue;
    if (std::isnan(first)) {
      first = value;
      profile.n_distinct = 1;
    } else if (value != first) {
      profile.n_distinct = 2;
    }
  }
  return profile;
}

struct Line {
  double slope = 0.0, constant = 0.0;
};

struct Pairs {
  std::vector<double> a, b;
};

Pairs both_present(const std::vector<double>& a, const std::vector<double>& b) {
  Pairs pairs;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i])) continue;
    pairs.a.push_back(a[i]);
    pairs.b.push_back(b[i]);
  }
  return pairs;
}

/// Through the points of least and greatest a, which lie furthest apart.
Line line_through_ends(const Pairs& pairs) {
  const auto [low, high] = std::minmax_element(pairs.a.begin(), pairs.a.end());
  const double b_low = pairs.b[static_cast<std::size_t>(low - pairs.a.begin())];
  const double b_high = pairs.b[static_cast<std::size_t>(high - pairs.a.begin())];
  const double slope = *high > *low ? (b_high - b_low) / (*high - *low) : 0.0;
  return {slope, b_low - slope * *low};
}

double deviation(const std::vector<double>& values) {
  const auto n = static_cast<Index>(values.size());
  const Eigen::Map<const Vector> v(values.data(), n);
  return weighted_deviation(v, Vector::Ones(n));
}

bool same_missing(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](double x, double y) { return std::isnan(x) == std::isnan(y); });
}

}  // namespace

ColumnProfile profile_of(const table::Table& table, std::size_t column, const std::vector<Index>& rows) {
  ColumnProfile profile;
  switch (table.understood.columns[column].type) {
    case table::ColumnType::number:
      profile = number_profile(table.columns[column], rows);
      break;
    case table::ColumnType::text:
      profile = text_profile(table.columns[column], rows);
      break;
    case table::ColumnType::empty:
      profile.values.assign(rows.size(), kNaN);
      break;
  }
  profile.n_missing = std::count_if(profile.values.begin(), profile.values.end(),
                                    [](double value) { return std::isnan(value); });
  return profile;
}

bool is_affine_copy(const std::vector<double>& a, const std::vector<double>& b) {
  const Pairs pairs = both_present(a, b);
  if (std::ssize(pairs.a) < kFewestToCompare) return false;
  const Line line = line_through_ends(pairs);
  if (line.slope == 0.0) return false;
  const double most = kCopyTolerance * deviation(pairs.b);
  for (std::size_t i = 0; i < pairs.a.size(); ++i)
    if (!(std::abs(pairs.b[i] - (line.slope * pairs.a[i] + line.constant)) <= most)) return false;
  return true;
}

bool say_the_same(const ColumnProfile& a, const ColumnProfile& b) {
  if (!same_missing(a.values, b.values)) return false;
  // Places in the order of first appearance are numbers like any others where there are two of them.
  const bool a_is_words = a.is_text && a.n_distinct > 2, b_is_words = b.is_text && b.n_distinct > 2;
  if (a_is_words != b_is_words) return false;
  if (!a_is_words) return is_affine_copy(a.values, b.values);
  return std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                    [](double x, double y) { return x == y || std::isnan(x); });
}

namespace {

// Takes what it recognises off the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  bool one_of(std::string_view marks) {
    if (rest_.empty() || marks.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // A whole run of digits, from `least` to `most` of them.
  bool digits(std::size_t least, std::size_t most) {
    const std::size_t length = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (length < least || length > most) return false;
    rest_.remove_prefix(length);
    return true;
  }

 private:
  std::string_view rest_;
};

// 2024-1-31, 31.1.2024, 1/31/24
bool take_day(Scanner& text) {
  constexpr std::string_view kMarks = "-/.";
  Scanner year_first = text;
  if (year_first.digits(4, 4)) {
    text = year_first;
    return text.one_of(kMarks) && text.digits(1, 2) && text.one_of(kMarks) && text.digits(1, 2);
  }
  return text.digits(1, 2) && text.one_of(kMarks) && text.digits(1, 2) && text.one_of(kMarks) &&
         (text.digits(4, 4) || text.digits(2, 2));
}

// 9:30, 09:30:00, 09:30:00.125
bool take_clock(Scanner& text) {
  if (!(text.digits(1, 2) && text.one_of(":") && text.digits(2, 2))) return false;
  if (!text.one_of(":")) return true;
  if (!text.digits(2, 2)) return false;
  constexpr std::size_t kMostDecimals = 20;
  return !text.one_of(".") || text.digits(1, kMostDecimals);
}

// A clock after a day, where there is one.
void take_clock_of_day(Scanner& text) {
  Scanner after = text;
  bool parted = false;
  while (after.one_of(" T")) parted = true;
  if (parted && take_clock(after)) text = after;
}

// The time zone or half of the day, where there is one; false for half a zone.
bool take_zone(Scanner& text) {
  text.one_of(" ");
  for (const char* word : {"Z", "UTC", "AM", "PM", "am", "pm"})
    if (text.word(word)) return true;
  if (!text.one_of("-+")) return true;
  return text.digits(4, 4) || (text.digits(2, 2) && text.one_of(":") && text.digits(2, 2));
}

}  // namespace

bool is_date(const std::string& cell) {
  Scanner day(cell), clock(cell);
  if (take_day(day)) {
    take_clock_of_day(day);
    return take_zone(day) && day.done();
  }
  return take_clock(clock) && take_zone(clock) && clock.done();
}

}  // namespace headspan::estimator
