#include "table/csv_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace headspan::table {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  std::string_view what;
};

constexpr std::string_view kUtf16 = "UTF-16 text; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)";
constexpr std::string_view kHtml = "HTML, probably a saved error or log-in page; download the file itself";

constexpr std::array kMagics{
    Magic{"\xff\xfe"sv, kUtf16},
    Magic{"\xfe\xff"sv, kUtf16},
    Magic{"\x1f\x8b"sv, "gzip-compressed; decompress it first (gunzip)"sv},
    Magic{"BZh"sv, "bzip2-compressed; decompress it first (bunzip2)"sv},
    Magic{"\xfd"
          "7zXZ"sv,
          "xz-compressed; decompress it first (unxz)"sv},
    Magic{"\x28\xb5\x2f\xfd"sv, "zstd-compressed; decompress it first (unzstd)"sv},
    Magic{"PK\x03\x04"sv, "a zip archive or a spreadsheet (.xlsx, .ods); unpack it, or save it as CSV"sv},
    Magic{"\xd0\xcf\x11\xe0"sv, "a spreadsheet (.xls); save it as CSV"sv},
    Magic{"PAR1"sv, "a Parquet file; write it as CSV"sv},
    Magic{"\x89HDF\r\n"sv, "an HDF5 file; write the table as CSV"sv},
    Magic{"\x93NUMPY"sv, "a NumPy array; write it with numpy.savetxt(..., delimiter=\",\")"sv},
    Magic{"SQLite format 3"sv, "an SQLite database; export the table as CSV"sv},
    Magic{"%PDF"sv, "a PDF; find the table as CSV"sv},
    Magic{"version https://git-lfs"sv, "a git-LFS pointer, not the table; run git lfs pull"sv},
    Magic{"<!doctype"sv, kHtml},
    Magic{"<html"sv, kHtml},
    Magic{"<?xml"sv, "XML; save the table as CSV"sv},
};

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char want, char have) { return lower(want) == lower(have); });
}

std::int64_t line_of(std::string_view text, std::size_t at) {
  std::int64_t line = 1;
  for (std::size_t i = 0; i < at; ++i)
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) ++line;
  return line;
}

void refuse_other_formats(std::string_view text, const std::string& path) {
  std::string_view body = text;
  if (body.substr(0, kByteOrderMark.size()) == kByteOrderMark) body.remove_prefix(kByteOrderMark.size());
  body.remove_prefix(std::min(body.size(), body.find_first_not_of(" \t\r\n")));
  for (const Magic& magic : kMagics)
    if (text.substr(0, magic.bytes.size()) == magic.bytes || starts_with_ignoring_case(body, magic.bytes))
      throw DataError(FileFault::unsupported, {path, {}, 0},
                      fmt::format("not a table in text: it is {}", magic.what));
  if (body.empty())
    throw DataError(
        FileFault::truncated, {path, {}, 0},
        fmt::format("the file {}; a table has a line of names and a line per row",
                    text.empty() ? "is empty" : "has nothing but blank lines or a byte order mark"));
  const std::size_t second = body.find_first_not_of(" \t\r\n", 1);
  const char after = second == std::string_view::npos ? '\0' : body[second];
  if ((body[0] == '{' && (after == '"' || after == '}')) ||
      (body[0] == '[' && (after == '{' || after == '[' || after == '"')))
    throw DataError(FileFault::unsupported, {path, {}, 0},
                    "not a table in text: it is JSON; write it as CSV, one line per row");
}

void refuse_nul(std::string_view text, const std::string& path) {
  const void* found = std::memchr(text.data(), '\0', text.size());
  if (found == nullptr) return;
  const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
  // Text of 16-bit units without a byte order mark: every other byte of a Latin letter is zero.
  constexpr std::size_t kSampled = 64;
  const std::string_view head = text.substr(0, kSampled);
  if (at < 2 && static_cast<std::size_t>(std::count(head.begin(), head.end(), '\0')) * 3 >= head.size())
    throw DataError(FileFault::unsupported, {path, {}, 0},
                    fmt::format("not a table in text: it is {}", kUtf16));
  fail_at_line(path, line_of(text, at), {}, FileFault::malformed,
               "a zero byte, which text does not have; is it a binary file, or was it cut off by a crash?");
}

bool is_continuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// Length of the well-formed sequence at the start of `bytes` (Unicode 15, table 3-7), 0 where there is none.
std::size_t sequence_length(const unsigned char* bytes, std::size_t left) {
  const unsigned char first = bytes[0];
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || left < length) return 0;
  unsigned char least = 0x80;
  unsigned char most = 0xbf;
  if (first == 0xe0) least = 0xa0;
  if (first == 0xed) most = 0x9f;
  if (first == 0xf0) least = 0x90;
  if (first == 0xf4) most = 0x8f;
  if (bytes[1] < least || bytes[1] > most) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (!is_continuation(bytes[i])) return 0;
  return length;
}

void check_utf8(std::string_view text, const std::string& path) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  constexpr std::uint64_t kHighBits = 0x8080808080808080u;
  for (std::size_t at = 0; at < text.size();) {
    std::uint64_t eight = 0;
    if (text.size() - at >= sizeof(eight)) {
      std::memcpy(&eight, bytes + at, sizeof(eight));
      if ((eight & kHighBits) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const std::size_t length = sequence_length(bytes + at, text.size() - at);
    if (length == 0)
      fail_at_line(path, line_of(text, at), {}, FileFault::malformed,
                   fmt::format("byte {:#04x} is not UTF-8; save the file as UTF-8 (from a Western Windows "
                               "program: iconv -f WINDOWS-1252 -t UTF-8)",
                               bytes[at]));
    at += length;
  }
}

}  // namespace

void fail_at_line(const std::string& path, std::int64_t line, const std::string& column, FileFault fault,
                  const std::string& reason) {
  throw DataError(fault,
                  {path, column.empty() ? std::string() : fmt::format("column {}", excerpt(column)),
                   std::nullopt, static_cast<std::uint64_t>(line)},
                  reason);
}

std::string excerpt(std::string_view cell) {
  constexpr std::size_t kLongest = 40;
  std::size_t length = std::min(cell.size(), kLongest);
  while (length < cell.size() && length > 0 && is_continuation(static_cast<unsigned char>(cell[length])))
    --length;
  std::string text = "'";
  for (const char c : cell.substr(0, length)) text += (c >= 0 && c < ' ') || c == '\x7f' ? '?' : c;
  return text + (length < cell.size() ? "...'" : "'");
}

void check_text(std::string_view text, const std::string& path) {
  refuse_other_formats(text, path);
  refuse_nul(text, path);
  check_utf8(text, path);
}

}  // namespace headspan::table
