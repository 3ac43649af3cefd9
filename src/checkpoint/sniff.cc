#include "checkpoint/sniff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "headspan/numeric/error.h"

namespace headspan::checkpoint {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kSniffed = 512;

struct Magic {
  std::string_view bytes;
  FileFault fault;
  std::string_view what;
};

constexpr std::string_view kPickle =
    "a Python pickle (a PyTorch .bin or .pt), which can run code when loaded; convert "
    "it with safetensors.torch.save_file";
constexpr std::string_view kHtml = "HTML, probably a saved error or log-in page; download the file itself";

constexpr std::array kMagics{
    Magic{"version https://git-lfs"sv, FileFault::malformed,
          "a git-LFS pointer, not the weights; run git lfs pull, or download the file itself"sv},
    Magic{"<!doctype"sv, FileFault::malformed, kHtml},
    Magic{"<html"sv, FileFault::malformed, kHtml},
    Magic{"<?xml"sv, FileFault::malformed,
          "XML, probably an error message of a storage server; download the file itself"sv},
    Magic{"PK\x03\x04"sv, FileFault::unsupported,
          "a zip archive (a PyTorch .bin or .pt, or an .npz); convert it with safetensors.torch.save_file"sv},
    Magic{"\x80\x02"sv, FileFault::unsupported, kPickle},
    Magic{"\x80\x03"sv, FileFault::unsupported, kPickle},
    Magic{"\x80\x04"sv, FileFault::unsupported, kPickle},
    Magic{"\x80\x05"sv, FileFault::unsupported, kPickle},
    Magic{"GGUF"sv, FileFault::unsupported, "a GGUF file; use the safetensors it was made from"sv},
    Magic{"FUGG"sv, FileFault::unsupported, "a big-endian GGUF file; use the safetensors it was made from"sv},
    Magic{"\x89HDF\r\n"sv, FileFault::unsupported, "an HDF5 file (Keras); convert it to safetensors"sv},
    Magic{"\x93NUMPY"sv, FileFault::unsupported, "a NumPy array; convert it to safetensors"sv},
    Magic{"\x1f\x8b"sv, FileFault::unsupported, "gzip-compressed; decompress it first"sv},
};

// First eight bytes of an honest header length (below 2^32) and its brace: then the file is what it says, and
// a length that happens to begin like a magic number is no reason to refuse it.
bool looks_like_safetensors(std::string_view head) {
  return head.size() >= 9 && head.substr(4, 4) == "\0\0\0\0"sv && head[8] == '{';
}

bool starts_with_ignoring_case(std::string_view text, std::string_view lower_case) {
  return text.size() >= lower_case.size() &&
         std::equal(lower_case.begin(), lower_case.end(), text.begin(), [](char want, char have) {
           return want ==
                  (have >= 'A' && have <= 'Z' && want >= 'a' ? static_cast<char>(have - 'A' + 'a') : have);
         });
}

std::string_view without_leading_space(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf"sv) text.remove_prefix(3);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == std::string_view::npos ? std::string_view{} : text.substr(start);
}

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n'; });
}

[[noreturn]] void fail(const InputFile& file, FileFault fault, const std::string& reason) {
  throw CheckpointError(fault, {file.path(), {}, 0}, reason);
}

}  // namespace

void refuse_other_formats(const InputFile& file) {
  if (file.size() == 0) fail(file, FileFault::truncated, "the file is empty; download it again");
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(kSniffed, file.size())), '\0');
  file.read(0, head.data(), head.size());
  if (looks_like_safetensors(head)) return;
  const std::string_view text = without_leading_space(head);
  for (const Magic& magic : kMagics)
    if (starts_with_ignoring_case(head, magic.bytes) || starts_with_ignoring_case(text, magic.bytes))
      fail(file, magic.fault, fmt::format("not safetensors: it is {}", magic.what));
  if (text.substr(0, 1) == "{" && is_text(head))
    fail(file, FileFault::malformed,
         "not safetensors: it is JSON text (an index ends in .safetensors.index.json); download the file "
         "itself");
  if (is_text(head))
    fail(file, FileFault::malformed,
         fmt::format("not safetensors: it is text that starts \"{}\"; download the file itself",
                     text.substr(0, std::min<std::size_t>(40, text.find_first_of("\r\n")))));
  if (file.size() < 8)
    fail(file, FileFault::truncated,
         fmt::format(
             "the file has {} bytes, fewer than the 8 of a safetensors header length; download it again",
             file.size()));
}

}  // namespace headspan::checkpoint
