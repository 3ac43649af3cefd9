#include "headspan/numeric/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

using Json = nlohmann::json;

// The parser does not tell its callbacks where it is; an iterator that leaves its position behind does.
class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  TrackedIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  TrackedIterator operator++(int) {
    TrackedIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TrackedIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// The opening quote of the string whose closing quote is at text[end - 1]: the first quote before it that no
// odd run of backslashes escapes.
std::size_t string_start(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0) {
    --at;
    if (text[at] != '"') continue;
    std::size_t backslashes = 0;
    while (backslashes < at && text[at - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return at;
  }
  return 0;
}

// The library's words without its own prefix, in printable ASCII and of readable length.
std::string plain_words(const std::string& what) {
  const std::size_t prefix = what.find("] ");
  std::string words = prefix == std::string::npos ? what : what.substr(prefix + 2);
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (words.size() > 200) words = words.substr(0, 197) + "...";
  return words;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& path, std::uint64_t first_byte)
      : text_(text), path_(path), first_byte_(first_byte), at_(text.data()) {}

  Json parse() {
    const char* end = text_.data() + text_.size();
    // The library takes a NUL for the end of the text and ignores what follows.
    if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos)
      fail(nul, {}, "not JSON: a NUL byte; fetch it again");
    try {
      return Json::parse(
          TrackedIterator(text_.data(), &at_), TrackedIterator(end, &at_),
          [this](int depth, Json::parse_event_t event, Json& parsed) { return watch(depth, event, parsed); });
    } catch (const Json::parse_error& error) {
      const std::size_t read = std::min<std::size_t>(error.byte, text_.size() + 1);
      fail(read == 0 ? 0 : read - 1, {},
           fmt::format("not JSON: {}; fetch it again", plain_words(error.what())));
    } catch (const Json::exception& error) {
      fail(position(), {}, fmt::format("not JSON: {}; fetch it again", plain_words(error.what())));
    }
  }

 private:
  std::size_t position() const { return static_cast<std::size_t>(at_ - text_.data()); }

  [[noreturn]] void fail(std::size_t offset, const std::string& item, const std::string& reason) const {
    throw FileError(FileFault::malformed, {path_, item, first_byte_ + offset}, reason);
  }

  // Called when the bracket or the key has just been read and nothing behind it.
  bool watch(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxJsonDepth)
        fail(position() - 1, {},
             fmt::format("JSON nested deeper than {}; no genuine file is", kMaxJsonDepth));
      if (event == Event::object_start) open_objects_.emplace_back();
    } else if (event == Event::object_end) {
      open_objects_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_objects_.back().insert(key).second)
        fail(string_start(text_, position()), key,
             "the key stands twice in one JSON object, so its value is ambiguous; keep one");
    }
    return true;
  }

  std::string_view text_;
  const std::string& path_;
  std::uint64_t first_byte_;
  const char* at_;
  std::vector<std::set<std::string>> open_objects_;
};

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& path, std::uint64_t first_byte) {
  return Parser(text, path, first_byte).parse();
}

}  // namespace headspan
