#include "table/csv_cell.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

#include "table/csv_text.h"

namespace headspan::table {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The parts of a decimal number without its sign.
struct Parts {
  std::string_view whole, fraction;
  char mark = '\0';
  bool has_exponent = false;
};

std::size_t digits_from(std::string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

bool is_exponent(std::string_view text) {
  if (text.empty() || lower(text[0]) != 'e') return false;
  const std::size_t start = text.size() > 1 && (text[1] == '+' || text[1] == '-') ? 2 : 1;
  return start < text.size() && digits_from(text, start) == text.size();
}

bool split(std::string_view text, Parts& parts) {
  std::size_t at = digits_from(text, 0);
  parts.whole = text.substr(0, at);
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    parts.mark = text[at];
    const std::size_t end = digits_from(text, at + 1);
    parts.fraction = text.substr(at + 1, end - at - 1);
    at = end;
  }
  if (parts.whole.empty() && parts.fraction.empty()) return false;
  parts.has_exponent = at < text.size();
  return !parts.has_exponent || is_exponent(text.substr(at));
}

bool could_group_thousands(const Parts& parts) {
  return !parts.has_exponent && !parts.whole.empty() && parts.whole.size() <= 3 && parts.whole[0] != '0' &&
         parts.fraction.size() == 3;
}

CellKind kind_of(const Parts& parts) {
  if (parts.mark == '\0') return CellKind::plain;
  const bool could_group = could_group_thousands(parts);
  if (parts.mark == '.') return could_group ? CellKind::point_thousands : CellKind::point;
  return could_group ? CellKind::comma_thousands : CellKind::comma;
}

// Whether a number outside the range of double is too large rather than too small, which std::from_chars does
// not tell: by the power of ten of its leading digit.
bool is_beyond_the_largest(const Parts& parts, std::string_view text) {
  constexpr std::int64_t kFarAway = std::int64_t{1} << 40;
  std::int64_t power = 0;
  const std::size_t lead = parts.whole.find_first_not_of('0');
  if (lead != std::string_view::npos)
    power = static_cast<std::int64_t>(parts.whole.size() - lead);
  else
    power =
        -static_cast<std::int64_t>(std::min(parts.fraction.find_first_not_of('0'), parts.fraction.size()));
  if (!parts.has_exponent) return power > 0;
  const std::size_t sign = text.find_first_of("eE") + 1;
  const std::size_t start = text[sign] == '+' || text[sign] == '-' ? sign + 1 : sign;
  std::int64_t exponent = 0;
  for (const char digit : text.substr(start)) exponent = std::min(exponent * 10 + (digit - '0'), kFarAway);
  return power + (text[sign] == '-' ? -exponent : exponent) > 0;
}

double unsigned_value(std::string_view text, const Parts& parts) {
  std::string with_point;
  if (parts.mark == ',') {
    with_point = text;
    with_point[parts.whole.size()] = '.';
    text = with_point;
  }
  double value = 0.0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc::result_out_of_range) return is_beyond_the_largest(parts, text) ? kInfinity : 0.0;
  return value;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() &&
         std::equal(text.begin(), text.end(), lower_case.begin(),
                    [](char have, char want) { return lower(have) == want; });
}

}  // namespace

MissingSpellings::MissingSpellings(const std::vector<std::string>& spellings)
    : spellings_(spellings.begin(), spellings.end()) {
  for (const std::string& spelling : spellings)
    if (spelling.empty())
      has_empty_ = true;
    else
      starts_[static_cast<unsigned char>(spelling[0])] = true;
}

bool MissingSpellings::contains(std::string_view cell) const {
  if (cell.empty()) return has_empty_;
  return starts_[static_cast<unsigned char>(cell[0])] && spellings_.contains(std::string(cell));
}

Cell read_cell(std::string_view text, const MissingSpellings& missing) {
  if (missing.contains(text)) return {CellKind::missing, kNaN};
  const bool is_signed = !text.empty() && (text[0] == '+' || text[0] == '-');
  const double sign = is_signed && text[0] == '-' ? -1.0 : 1.0;
  const std::string_view magnitude = is_signed ? text.substr(1) : text;
  Parts parts;
  if (split(magnitude, parts)) {
    const double value = sign * unsigned_value(magnitude, parts);
    const bool is_finite = value < kInfinity && value > -kInfinity;
    return {is_finite ? kind_of(parts) : CellKind::infinite, value};
  }
  if (equals_ignoring_case(magnitude, "inf") || equals_ignoring_case(magnitude, "infinity"))
    return {CellKind::infinite, sign * kInfinity};
  return {CellKind::text, kNaN};
}

bool has_thousands_groups(std::string_view text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  const std::size_t first = digits_from(text, 0);
  if (first == 0 || first > 3 || first == text.size()) return false;
  const char group_mark = text[first];
  if (group_mark != ',' && group_mark != '.' && group_mark != ' ' && group_mark != '\'') return false;
  constexpr std::size_t kGroup = 4;  // a mark and three digits
  std::size_t at = first;
  while (at < text.size() && text[at] == group_mark && digits_from(text, at + 1) == at + kGroup) at += kGroup;
  if (at == first) return false;
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) at = digits_from(text, at + 1);
  return at == text.size();
}

}  // namespace headspan::table
