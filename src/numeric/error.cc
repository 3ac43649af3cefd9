#include "headspan/numeric/error.h"

#include <fmt/format.h>

namespace headspan {
namespace {

std::string message(FileFault fault, const FilePlace& place, const std::string& reason) {
  std::string text = place.path;
  if (place.line) text += fmt::format(": line {}", *place.line);
  if (!place.item.empty()) text += ": " + place.item;
  if (place.offset) text += fmt::format(": at byte {}", *place.offset);
  return fmt::format("{}: {}: {}", text, to_string(fault), reason);
}

}  // namespace

const char* to_string(FileFault fault) {
  switch (fault) {
    case FileFault::missing:
      return "missing";
    case FileFault::unreadable:
      return "unreadable";
    case FileFault::truncated:
      return "truncated";
    case FileFault::malformed:
      return "malformed";
    case FileFault::unsupported:
      return "unsupported";
    case FileFault::refused:
      return "refused";
  }
  throw ArgumentError("to_string(FileFault): value outside the enumeration");
}

FileError::FileError(FileFault fault, FilePlace place, const std::string& rule_and_remedy)
    : std::runtime_error(message(fault, place, rule_and_remedy)),
      fault_(fault),
      place_(std::move(place)),
      reason_(rule_and_remedy) {}

}  // namespace headspan
