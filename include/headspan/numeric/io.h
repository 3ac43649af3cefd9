#pragma once
// Files read and written: positional reads that end in an error and never in a signal, and atomic
// replacement.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace headspan {

/// A file open for positional reads. No memory map: a file that shrinks while it is read gives a FileError
/// of kind truncated, not SIGBUS. Safe to read from several threads.
class InputFile {
 public:
  /// Throws FileError missing or unreadable (folders, pipes and devices are unreadable).
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// Size when opened.
  std::uint64_t size() const { return size_; }
  /// Fills `buffer` with `count` bytes from `offset`; throws FileError truncated, or refused where the file
  /// was replaced or changed (size, modification time) since it was opened.
  void read(std::uint64_t offset, void* buffer, std::size_t count) const;
  /// Throws FileError truncated if the file is shorter than at opening, refused if its size or modification
  /// time differ otherwise, or if the path leads to another file now.
  void check_unchanged() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::int64_t modified_ns_ = 0;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

/// The whole of a text file no longer than `limit` bytes; FileError refused beyond it.
std::string read_text(const std::string& path, std::uint64_t limit);

/// Writes a file by way of a temporary neighbour, renamed when complete: `write` gets the stream. On any
/// exception or signal-driven cancellation the old file stays as it was and the temporary is removed. An
/// existing file's permissions are kept; a symbolic link is replaced, not followed. Throws OutputError, and
/// what `write` throws.
void replace_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// Removes the temporaries of the replace_file calls under way, for a signal handler that ends the process
/// next: async-signal-safe. The calls themselves fail if the process goes on.
void remove_pending_outputs() noexcept;

}  // namespace headspan
