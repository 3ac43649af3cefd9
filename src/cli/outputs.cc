#include "cli/outputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <streambuf>

#include "cli/exit_code.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/io.h"

namespace headspan::cli {
namespace {

namespace fs = std::filesystem;

// std::cout does not tell why a write failed, and a reader that went away must be told from a full disk.
class StandardOutputBuffer : public std::streambuf {
 public:
  StandardOutputBuffer() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    *pptr() = traits_type::to_char_type(c);
    pbump(1);
    return c;
  }
  int sync() override {
    const char* at = pbase();
    while (at < pptr() && error_ == 0) {
      const ssize_t written = ::write(STDOUT_FILENO, at, static_cast<std::size_t>(pptr() - at));
      if (written >= 0)
        at += written;
      else if (errno != EINTR)
        error_ = errno;
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0 ? 0 : -1;
  }

 private:
  std::array<char, 65536> buffer_;
  int error_ = 0;
};

[[noreturn]] void fail(const Output& output, const std::string& why) {
  throw OutputError(fmt::format("{} {}: cannot be written: {}", output.option, output.path, why));
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  // Files that are not there yet; made absolute first, since "a" and "./a" come back differently otherwise.
  const auto place = [&](const fs::path& path) {
    return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  };
  return place(a) == place(b);
}

// A device, a pipe: written through, never replaced.
bool is_special(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void check_writable(const Output& output) {
  const fs::path path(output.path);
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail(output, "it is a directory; name a file in it");
  if (fs::exists(path, ignored) && ::access(path.c_str(), W_OK) != 0) fail(output, std::strerror(errno));
  if (is_special(path)) return;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) fail(output, fmt::format("there is no folder {}", folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    fail(output, fmt::format("folder {}: {}", folder.string(), std::strerror(errno)));
}

void write_special(const Output& output, const Writer& write) {
  std::ofstream stream(output.path, std::ios::binary);
  if (stream) write(stream);
  stream.flush();
  if (!stream) fail(output, "the device refuses it");
}

}  // namespace

bool is_standard_output(const Output& output) { return output.path == "-"; }

void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = outputs[i];
    if (output.path.empty()) throw UsageError(output.option + ": the file name is empty");
    for (std::size_t j = 0; j < i; ++j) {
      if (is_standard_output(output) != is_standard_output(outputs[j])) continue;
      if (is_standard_output(output) ||
          (!is_special(output.path) && is_same_file(output.path, outputs[j].path)))
        throw UsageError(fmt::format("{} and {} both write to {}; give them different files",
                                     outputs[j].option, output.option,
                                     output.path == "-" ? "standard output" : output.path));
    }
    if (is_standard_output(output)) continue;
    for (const std::string& input : inputs)
      if (is_same_file(output.path, input))
        throw UsageError(
            fmt::format("{} {}: this is an input file; name another", output.option, output.path));
    check_writable(output);
  }
}

void write_output(const Output& output, const Writer& write) {
  if (is_standard_output(output)) return write_standard_output(write);
  if (is_special(output.path)) return write_special(output, write);
  std::error_code ignored;
  // A link stays a link: the file it leads to is replaced.
  const fs::path target =
      fs::is_symlink(output.path, ignored) ? fs::weakly_canonical(output.path) : fs::path(output.path);
  replace_file(target.string(), write);
}

void write_standard_output(const Writer& write) {
  StandardOutputBuffer buffer;
  std::ostream stream(&buffer);
  write(stream);
  stream.flush();
  if (buffer.error() != 0 && buffer.error() != EPIPE)
    throw OutputError(fmt::format("standard output: cannot be written: {}", std::strerror(buffer.error())));
}

void write_table(const std::vector<Output>& outputs, bool quiet, const Writer& write) {
  if (!quiet && std::none_of(outputs.begin(), outputs.end(), is_standard_output))
    write_standard_output(write);
}

}  // namespace headspan::cli
