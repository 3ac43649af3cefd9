#include "headspan/numeric/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

namespace fs = std::filesystem;

// read(2) transfers at most this much at once on Linux.
constexpr std::size_t kMaxTransfer = 0x7ffff000;

std::int64_t modified_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

[[noreturn]] void fail(FileFault fault, const std::string& path, const std::string& reason) {
  throw FileError(fault, {path, {}, {}}, reason);
}

[[noreturn]] void fail_open(const std::string& path, int error) {
  if (error != ENOENT && error != ENOTDIR) fail(FileFault::unreadable, path, std::strerror(error));
  std::error_code ignored;
  if (fs::is_symlink(path, ignored))
    fail(FileFault::missing, path,
         fmt::format("the link leads to {}, which is not there; fetch the file again",
                     fs::read_symlink(path, ignored).string()));
  fail(FileFault::missing, path, "there is no such file; check the path");
}

[[noreturn]] void fail_shrunk(const std::string& path, std::uint64_t offset) {
  throw FileError(FileFault::truncated, {path, {}, offset},
                  "the file became shorter while it was read; run again when it is complete");
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_open(path, errno);
  struct stat status {};
  const int error = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    if (error != 0) fail(FileFault::unreadable, path, std::strerror(error));
    fail(
        FileFault::unreadable, path,
        S_ISDIR(status.st_mode) ? "it is a folder; name a file" : "it is not a regular file; copy it to one");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  modified_ns_ = modified_ns(status);
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      modified_ns_(other.modified_ns_),
      device_(other.device_),
      inode_(other.inode_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this == &other) return *this;
  if (descriptor_ >= 0) ::close(descriptor_);
  path_ = std::move(other.path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  size_ = other.size_;
  modified_ns_ = other.modified_ns_;
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

void InputFile::read(std::uint64_t offset, void* buffer, std::size_t count) const {
  if (offset > size_ || count > size_ - offset)
    throw FileError(
        FileFault::truncated, {path_, {}, size_},
        fmt::format("the file ends where {} bytes from byte {} are wanted; fetch it again", count, offset));
  char* to = static_cast<char*>(buffer);
  for (std::size_t left = count; left > 0;) {
    const ssize_t got =
        ::pread(descriptor_, to, std::min(left, kMaxTransfer), static_cast<off_t>(offset + (count - left)));
    if (got == 0) fail_shrunk(path_, offset + (count - left));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw FileError(FileFault::unreadable, {path_, {}, offset + (count - left)}, std::strerror(errno));
    to += got;
    left -= static_cast<std::size_t>(got);
  }
  // After the transfer: a time that is still the old one then vouches for the bytes just read.
  check_unchanged();
}

void InputFile::check_unchanged() const {
  struct stat open_file {};
  if (::fstat(descriptor_, &open_file) != 0) fail(FileFault::unreadable, path_, std::strerror(errno));
  const auto size = static_cast<std::uint64_t>(open_file.st_size);
  if (size < size_) fail_shrunk(path_, size);
  if (size != size_ || modified_ns(open_file) != modified_ns_)
    fail(FileFault::refused, path_, "the file was changed while it was read; run again when it is complete");
  struct stat named {};
  if (::stat(path_.c_str(), &named) != 0 || named.st_dev != device_ || named.st_ino != inode_)
    fail(FileFault::refused, path_,
         "the file was removed or replaced while it was read; run again when it is complete");
}

std::string read_text(const std::string& path, std::uint64_t limit) {
  const InputFile file(path);
  if (file.size() > limit)
    fail(FileFault::refused, path,
         fmt::format("it has {} bytes, more than the {} such a file may have; is it the right file?",
                     file.size(), limit));
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

}  // namespace headspan
