#pragma once
// Where documents go: files replaced whole, or standard output.

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace headspan::cli {

/// A document and where the user wants it: "--json" and a path, "-" being standard output.
struct Output {
  std::string option;
  std::string path;
};

bool is_standard_output(const Output& output);

/// Before the long work: UsageError for two documents on standard output, one path used twice, or a path that
/// is an input; OutputError where it can already be seen that the file cannot be written.
void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs);

using Writer = std::function<void(std::ostream&)>;

/// Writes one document. Throws OutputError.
void write_output(const Output& output, const Writer& write);

/// Writes to standard output. A reader that went away is no error; anything else throws OutputError.
void write_standard_output(const Writer& write);

/// The same of what is for people, unless they asked for quiet or a document has standard output to itself.
void write_table(const std::vector<Output>& outputs, bool quiet, const Writer& write);

}  // namespace headspan::cli
