#pragma once
// The exceptions of headspan. Every message names the place, the rule and the remedy.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace headspan {

/// Misuse of the programming interface: which argument, which rule, which value.
class ArgumentError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// What is wrong with an input file.
enum class FileFault {
  missing,      ///< it, or a part it needs, is not there
  unreadable,   ///< the operating system refuses to give its bytes
  truncated,    ///< it ends early, or became shorter while it was read
  malformed,    ///< its bytes break the rules of its format
  unsupported,  ///< legal, but not something headspan reads
  refused,      ///< legal, but contradictory or ambiguous: guessing would be silent error
};

/// Lower-case word for a fault, as printed.
const char* to_string(FileFault fault);

/// Where in an input something is wrong.
struct FilePlace {
  std::string path;                     ///< the file
  std::string item;                     ///< tensor, key or column, if one is concerned
  std::optional<std::uint64_t> offset;  ///< byte offset in the file, if one is concerned
  std::optional<std::uint64_t> line{};  ///< line of a text file, from 1, if one is concerned
};

/// A bad input file. `what()` reads "PATH: line N: ITEM: at byte N: FAULT: rule and remedy".
class FileError : public std::runtime_error {
 public:
  FileError(FileFault fault, FilePlace place, const std::string& rule_and_remedy);
  FileFault fault() const { return fault_; }
  const FilePlace& place() const { return place_; }
  /// The rule and the remedy alone, without the place.
  const std::string& reason() const { return reason_; }

 private:
  FileFault fault_;
  FilePlace place_;
  std::string reason_;
};

/// A bad checkpoint: container, configuration, layout or tensor.
class CheckpointError : public FileError {
 public:
  using FileError::FileError;
};

/// A bad table or array file.
class DataError : public FileError {
 public:
  using FileError::FileError;
};

/// An output file could not be written; nothing half-written is left behind.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace headspan
