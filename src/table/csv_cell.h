#pragma once
// What one cell says.

#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace headspan::table {

enum class CellKind : unsigned char {
  missing,
  plain,            ///< a number without a decimal mark
  point,            ///< a number with a decimal point
  point_thousands,  ///< 1.234, of which the point could group thousands
  comma,            ///< a number with a decimal comma
  comma_thousands,  ///< 1,234, of which the comma could group thousands
  infinite,         ///< infinity in words, or a number beyond double
  text,
};
inline constexpr std::size_t kCellKinds = 8;

struct Cell {
  CellKind kind = CellKind::missing;
  double value = 0.0;  ///< with its own mark taken as the decimal one; NaN where missing or text
};

/// The spellings of a missing value, looked up in about one comparison for the cells that are none.
class MissingSpellings {
 public:
  explicit MissingSpellings(const std::vector<std::string>& spellings);
  bool contains(std::string_view cell) const;

 private:
  bool has_empty_ = false;
  std::array<bool, 256> starts_{};
  std::unordered_set<std::string> spellings_;
};

/// Reads a trimmed cell, independently of any locale. Numbers have an optional sign, digits with at most one
/// point or comma (before, between or after them) and an optional decimal exponent; they round to the nearest
/// double, those below the smallest to zero.
Cell read_cell(std::string_view text, const MissingSpellings& missing);

/// 1,234,567 or 1.234.567,8 or 1 234: digits in groups of three, which read_cell calls text.
bool has_thousands_groups(std::string_view text);

}  // namespace headspan::table
