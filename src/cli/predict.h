#pragma once
// headspan predict: predictions of a model file for a table.

#include <CLI/CLI.hpp>
#include <functional>

namespace headspan::cli {

/// Adds the command to `app`; `run` is set to what it does when the command line chose it. The function
/// returns the exit code and may throw UsageError, ArgumentError, FileError and OutputError.
void add_predict_command(CLI::App& app, std::function<int()>& run);

}  // namespace headspan::cli
