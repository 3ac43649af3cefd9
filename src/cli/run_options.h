#pragma once
// Options that say how a command runs, the same in every command: seed and threads.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace headspan::cli {

/// Declares --seed; `text` says what is random. Other words than whole numbers from 0 on are refused.
void declare_seed(CLI::App& command, std::uint64_t& seed, const std::string& text, const std::string& group);

/// Declares --threads.
void declare_threads(CLI::App& command, int& n_threads, const std::string& group);

/// Throws UsageError for a negative or absurd number of threads.
void check_threads(int n_threads);

}  // namespace headspan::cli
