#pragma once
// Which character separates the fields of a text.

#include <string_view>

namespace headspan::table {

/// The separator among tab, semicolon, bar and comma under which the records of the beginning of `text` all
/// have the same number of fields, more than one; failing that, the one under which most have. NUL where none
/// separates anything: one column.
char find_separator(std::string_view text);

}  // namespace headspan::table
