#include "report/number_text.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace headspan::report {
namespace {

/// Below it a probability has lost its digits to underflow, down to a 0 that it cannot be.
constexpr double kSmallestShown = 1e-300;

bool is_missing(const std::optional<double>& value) { return !value || std::isnan(*value); }

}  // namespace

std::string fixed_text(const std::optional<double>& value) {
  if (is_missing(value)) return "-";
  const std::string text = fmt::format("{:.3f}", *value);
  return text == "-0.000" ? "0.000" : text;
}

std::string z_text(const std::optional<double>& value) {
  if (is_missing(value)) return "-";
  const double magnitude = std::abs(*value);
  if (magnitude < 0.05) return "0.0";
  if (magnitude < 99.95) return fmt::format("{:+.1f}", *value);
  return magnitude < 99999.5 ? fmt::format("{:+.0f}", *value) : fmt::format("{:+.0e}", *value);
}

std::string probability_text(const std::optional<double>& value) {
  if (is_missing(value)) return "-";
  if (*value < kSmallestShown) return fmt::format("<{:.0e}", kSmallestShown);
  if (*value < 1e-3) return fmt::format("{:.0e}", *value);
  return fmt::format("{:.2g}", *value);
}

std::string short_text(const std::optional<double>& value) {
  return is_missing(value) ? "-" : fmt::format("{:.4g}", *value);
}

std::string degrees_text(const std::optional<double>& radians) {
  return is_missing(radians) ? "-" : fmt::format("{:.4g}", *radians * 180.0 / std::numbers::pi);
}

std::string count_text(std::int64_t value) { return value == 0 ? "-" : std::to_string(value); }

std::string counted(std::int64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

std::string exact_text(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "";
}

void append(std::string& list, std::string_view separator, std::string_view item) {
  if (!list.empty()) list += separator;
  list += item;
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return out;
}

}  // namespace headspan::report
