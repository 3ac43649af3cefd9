#pragma once
// Numbers and names as words. A missing value is "-" everywhere, so that it cannot be taken for a zero.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headspan::report {

/// Three decimals: "0.801".
std::string fixed_text(const std::optional<double>& value);
/// A z-score, signed: "-6.2", "+140".
std::string z_text(const std::optional<double>& value);
/// A p- or q-value: "0.031", "2e-09", "<1e-300".
std::string probability_text(const std::optional<double>& value);
/// Four significant digits: "3.142", "1.2e-08".
std::string short_text(const std::optional<double>& value);
/// Radians as degrees, four significant digits.
std::string degrees_text(const std::optional<double>& radians);
/// A count of which 0 means unknown.
std::string count_text(std::int64_t value);
/// "1 row", "2 rows": a count and what is counted.
std::string counted(std::int64_t count, std::string_view singular);
/// Shortest decimal that reads back as the same double; "" where there is no finite value.
std::string exact_text(const std::optional<double>& value);

/// Adds an item to a list in words, after `separator` unless it is the first.
void append(std::string& list, std::string_view separator, std::string_view item);

/// Text of a file, safe to print: control characters, which could drive the terminal, become '?'.
std::string printable(std::string_view text);

}  // namespace headspan::report
