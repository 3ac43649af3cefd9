#pragma once
// Whether bytes can be the text of a table at all.

#include <cstdint>
#include <string>
#include <string_view>

#include "headspan/numeric/error.h"

namespace headspan::table {

/// Of ASCII letters alone, whatever the locale.
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Throws DataError at a line of `path`; `column` may be empty.
[[noreturn]] void fail_at_line(const std::string& path, std::int64_t line, const std::string& column,
                               FileFault fault, const std::string& reason);

/// Part of a cell for a message: at most 40 bytes, control characters as '?', in single quotes.
std::string excerpt(std::string_view cell);

/// Throws DataError if `text` is empty, another format by its first bytes, not UTF-8, or holds a NUL; the
/// message says what it is and what to do.
void check_text(std::string_view text, const std::string& path);

/// A UTF-8 byte order mark.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace headspan::table
