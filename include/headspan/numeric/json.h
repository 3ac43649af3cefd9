#pragma once
// JSON read strictly: what two parsers could understand differently is refused.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace headspan {

/// Deepest nesting of objects and arrays that parse_json accepts.
inline constexpr int kMaxJsonDepth = 128;

/// The value of one JSON text. Throws FileError malformed, with the byte, for: bytes that are not UTF-8,
/// anything after the value, an object that has a key twice, nesting beyond kMaxJsonDepth, numbers beyond
/// double. `path` names the text in errors; `first_byte` is where it starts in that file.
nlohmann::json parse_json(std::string_view text, const std::string& path, std::uint64_t first_byte = 0);

}  // namespace headspan
