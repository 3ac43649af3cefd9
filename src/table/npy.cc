#include "headspan/table/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/io.h"

namespace headspan::table {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// NumPy's own readers refuse longer headers by default (10,000 characters); arrays of numbers need about 128.
constexpr std::uint64_t kMaxHeaderBytes = 1 << 16;

struct NpyHeader {
  std::string descr;
  bool is_fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_start = 0;
};

[[noreturn]] void fail(const InputFile& file, FileFault fault, std::optional<std::uint64_t> offset,
                       const std::string& reason) {
  throw DataError(fault, {file.path(), {}, offset}, reason);
}

// Reads the one form of Python literal that a header is: a dict of text, bool and a tuple of whole numbers.
class HeaderParser {
 public:
  HeaderParser(const InputFile& file, std::string_view text, std::uint64_t first_byte)
      : file_(file), text_(text), first_byte_(first_byte) {}

  NpyHeader parse() {
    expect('{');
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      bool& seen = key == "descr" ? has_descr : key == "fortran_order" ? has_order : has_shape;
      if (seen || (&seen == &has_shape && key != "shape"))
        malformed(fmt::format("the key '{}' is out of place", key));
      seen = true;
      value_of(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) malformed("something follows its dict");
    if (!has_descr || !has_order || !has_shape) malformed("descr, fortran_order or shape is not there");
    return header_;
  }

 private:
  [[noreturn]] void malformed(const std::string& what) const {
    fail(file_, FileFault::malformed, first_byte_ + at_,
         fmt::format("not an .npy header: {}; write it again with numpy.save", what));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char wanted) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) malformed(fmt::format("'{}' is wanted here", wanted));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') malformed("a quoted text is wanted here");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) malformed("a text without end");
    std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }

  void value_of(const std::string& key) {
    if (key == "shape") return shape();
    if (key == "fortran_order") {
      header_.is_fortran_order = accept_word("True");
      if (!header_.is_fortran_order && !accept_word("False"))
        malformed("fortran_order is neither True nor False");
      return;
    }
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[')
      fail(file_, FileFault::unsupported, first_byte_ + at_,
           "a structured array (columns of several types) is not read; save a plain array of float64");
    header_.descr = quoted();
  }

  void shape() {
    expect('(');
    while (!accept(')')) {
      header_.shape.push_back(whole_number());
      if (!accept(',')) {
        expect(')');
        return;
      }
    }
  }

  std::uint64_t whole_number() {
    skip_space();
    const std::size_t start = at_;
    std::uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
          __builtin_add_overflow(value, static_cast<std::uint64_t>(text_[at_] - '0'), &value))
        malformed("a length beyond 64 bits");
    if (at_ == start) malformed("a whole number is wanted here");
    accept('L');  // NumPy under Python 2 wrote long integers
    return value;
  }

  const InputFile& file_;
  std::string_view text_;
  std::uint64_t first_byte_;
  std::size_t at_ = 0;
  NpyHeader header_;
};

std::uint64_t little_endian(const unsigned char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

NpyHeader read_header(const InputFile& file) {
  unsigned char start[12] = {};
  const auto available = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof(start), file.size()));
  file.read(0, start, available);
  if (available < kMagic.size() || std::memcmp(start, kMagic.data(), kMagic.size()) != 0)
    fail(file, file.size() == 0 ? FileFault::truncated : FileFault::malformed, 0,
         "not an .npy file: it does not start with \\x93NUMPY; write it with numpy.save");
  const int version = start[6];
  if (available > 6 && (version < 1 || version > 3))
    fail(file, FileFault::unsupported, 6,
         fmt::format("version {} of the .npy format is not read, 1 to 3 are; save it with numpy.save",
                     version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::uint64_t text_start = 8 + length_bytes;
  if (file.size() < text_start) fail(file, FileFault::truncated, file.size(), "the file ends in its header");
  const std::uint64_t length = little_endian(start + 8, length_bytes);
  if (length > file.size() - text_start)
    fail(file, FileFault::truncated, file.size(), "the file ends in its header; fetch it again");
  if (length > kMaxHeaderBytes)
    fail(file, FileFault::unsupported, 8,
         fmt::format("a header of {} bytes is not that of a plain array", length));
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(text_start, text.data(), text.size());
  NpyHeader header = HeaderParser(file, text, text_start).parse();
  header.data_start = text_start + length;
  return header;
}

struct ElementType {
  std::size_t bytes = 8;
  bool is_swapped = false;
};

ElementType element_type(const InputFile& file, const std::string& descr) {
  if (descr == "<f8" || descr == "=f8") return {8, false};
  if (descr == "<f4" || descr == "=f4") return {4, false};
  if (descr == ">f8") return {8, true};
  if (descr == ">f4") return {4, true};
  if (descr == "|O")
    fail(file, FileFault::unsupported, {},
         "an array of Python objects is a pickle, which can run code when loaded; save it as float64");
  fail(file, FileFault::unsupported, {},
       fmt::format("type {} is not read, float64 and float32 are; save array.astype(\"float64\")", descr));
}

// Bytes of the array, checked against the file.
std::uint64_t checked_size(const InputFile& file, const NpyHeader& header, const ElementType& type) {
  std::uint64_t bytes = type.bytes;
  const bool is_empty = header.shape[0] == 0 || header.shape[1] == 0;
  constexpr std::uint64_t kLongest = std::numeric_limits<std::int64_t>::max();
  if (header.shape[0] > kLongest || header.shape[1] > kLongest ||
      (!is_empty && (__builtin_mul_overflow(bytes, header.shape[0], &bytes) ||
                     __builtin_mul_overflow(bytes, header.shape[1], &bytes))))
    fail(file, FileFault::malformed, {},
         fmt::format("shape ({}) has more elements than 64 bits can count", fmt::join(header.shape, ", ")));
  if (is_empty) bytes = 0;
  const std::uint64_t held = file.size() - header.data_start;
  if (bytes > held)
    fail(file, FileFault::truncated, file.size(),
         fmt::format("shape ({}) takes {} bytes and {} are there; fetch it again",
                     fmt::join(header.shape, ", "), bytes, held));
  if (bytes < held)
    fail(file, FileFault::malformed, header.data_start + bytes,
         fmt::format("{} bytes follow the array of shape ({}); write it again with numpy.save", held - bytes,
                     fmt::join(header.shape, ", ")));
  return bytes;
}

double element(const unsigned char* bytes, const ElementType& type) {
  unsigned char ordered[8];
  std::copy_n(bytes, type.bytes, ordered);
  if (type.is_swapped) std::reverse(ordered, ordered + type.bytes);
  if (type.bytes == 8) {
    double value = 0.0;
    std::memcpy(&value, ordered, sizeof(value));
    return value;
  }
  float value = 0.0F;
  std::memcpy(&value, ordered, sizeof(value));
  return double{value};
}

Matrix read(const std::string& path) {
  const InputFile file(path);
  const NpyHeader header = read_header(file);
  const ElementType type = element_type(file, header.descr);
  if (header.shape.size() != 2)
    fail(file, FileFault::unsupported, {},
         fmt::format("a matrix is wanted and this array has {} axes, shape ({}); reshape it",
                     header.shape.size(), fmt::join(header.shape, ", ")));
  std::vector<unsigned char> bytes(static_cast<std::size_t>(checked_size(file, header, type)));
  file.read(header.data_start, bytes.data(), bytes.size());
  Matrix matrix(static_cast<Index>(header.shape[0]), static_cast<Index>(header.shape[1]));
  for (Index row = 0; row < matrix.rows(); ++row)
    for (Index column = 0; column < matrix.cols(); ++column) {
      const Index at = header.is_fortran_order ? column * matrix.rows() + row : row * matrix.cols() + column;
      matrix(row, column) = element(bytes.data() + static_cast<std::size_t>(at) * type.bytes, type);
    }
  return matrix;
}

}  // namespace

Matrix read_npy(const std::string& path) {
  try {
    return read(path);
  } catch (const DataError&) {
    throw;
  } catch (const FileError& error) {
    throw DataError(error.fault(), error.place(), error.reason());
  }
}

}  // namespace headspan::table
