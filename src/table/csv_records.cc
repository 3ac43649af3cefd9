#include "table/csv_records.h"

#include <fmt/format.h>

#include "table/csv_text.h"

namespace headspan::table {
namespace {

constexpr std::string_view kNoBreakSpace = "\xc2\xa0";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_line_end(char c) { return c == '\n' || c == '\r'; }

std::int64_t count_lines(std::string_view text) {
  std::int64_t lines = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) ++lines;
  return lines;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  for (;;) {
    if (!text.empty() && is_blank(text.front()))
      text.remove_prefix(1);
    else if (text.substr(0, kNoBreakSpace.size()) == kNoBreakSpace)
      text.remove_prefix(kNoBreakSpace.size());
    else
      break;
  }
  for (;;) {
    if (!text.empty() && is_blank(text.back()))
      text.remove_suffix(1);
    else if (text.size() >= kNoBreakSpace.size() &&
             text.substr(text.size() - kNoBreakSpace.size()) == kNoBreakSpace)
      text.remove_suffix(kNoBreakSpace.size());
    else
      return text;
  }
}

bool RecordReader::next() {
  if (defect_) return false;
  while (at_ < text_.size() && skip_blank_line()) ++n_blank_lines_;
  if (at_ == text_.size()) return false;
  fields_.clear();
  unescaped_.clear();
  record_line_ = line_;
  while (take_field()) {
  }
  if (defect_) return false;
  if (at_ < text_.size()) take_line_end();
  return true;
}

bool RecordReader::skip_blank_line() {
  std::size_t end = at_;
  while (end < text_.size() && is_blank(text_[end]) && text_[end] != separator_) ++end;
  if (end < text_.size() && !is_line_end(text_[end])) return false;
  at_ = end;
  if (at_ < text_.size()) take_line_end();
  return true;
}

// Takes one field and the separator after it; false where the record ends.
bool RecordReader::take_field() {
  std::size_t start = at_;
  while (start < text_.size() && is_blank(text_[start]) && text_[start] != separator_) ++start;
  if (start < text_.size() && text_[start] == '"') return take_quoted(start);
  std::size_t end = start;
  while (end < text_.size() && text_[end] != separator_ && !is_line_end(text_[end])) ++end;
  fields_.push_back({trimmed(text_.substr(start, end - start)), false});
  at_ = end;
  if (at_ == text_.size() || is_line_end(text_[at_])) return false;
  ++at_;
  return true;
}

bool RecordReader::take_quoted(std::size_t open) {
  has_quotes_ = true;
  bool has_doubled = false;
  std::size_t close = open + 1;
  for (;;) {
    close = text_.find('"', close);
    if (close == std::string_view::npos) {
      defect_ = {line_,
                 "a quote opens here and never closes; close it, or double it if it belongs to the text",
                 true};
      return false;
    }
    if (close + 1 == text_.size() || text_[close + 1] != '"') break;
    has_doubled = true;
    close += 2;
  }
  const std::string_view inside = text_.substr(open + 1, close - open - 1);
  line_ += count_lines(inside);
  at_ = close + 1;
  return take_rest_after_quote(has_doubled ? without_doubled_quotes(inside) : inside);
}

bool RecordReader::take_rest_after_quote(std::string_view field) {
  while (at_ < text_.size() && is_blank(text_[at_]) && text_[at_] != separator_) ++at_;
  fields_.push_back({trimmed(field), true});
  if (at_ == text_.size() || is_line_end(text_[at_])) return false;
  if (text_[at_] != separator_) {
    defect_ = {line_,
               fmt::format("text follows the closing quote of {}; double a quote that belongs to the text",
                           excerpt(field)),
               false};
    return false;
  }
  ++at_;
  return true;
}

std::string_view RecordReader::without_doubled_quotes(std::string_view inside) {
  std::string& text = unescaped_.emplace_back();
  text.reserve(inside.size());
  for (std::size_t i = 0; i < inside.size(); ++i) {
    text += inside[i];
    if (inside[i] == '"') ++i;
  }
  return text;
}

void RecordReader::take_line_end() {
  ++line_;
  if (text_[at_] == '\n') {
    ++line_ends_.lf;
    ++at_;
  } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
    ++line_ends_.crlf;
    at_ += 2;
  } else {
    ++line_ends_.cr;
    ++at_;
  }
}

}  // namespace headspan::table
