#include "cli/run_options.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/exit_code.h"

namespace headspan::cli {
namespace {

constexpr int kMostThreads = 4096;

// Empty where `text` is a seed, otherwise what is wrong. The parser alone would wrap -1 round, and hold at
// the largest number from there on.
std::string complaint_of_seed(const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) return text + " is above 2^64 - 1";
  return error == std::errc() && rest == end ? "" : text + " is not a whole number from 0 on";
}

}  // namespace

void declare_seed(CLI::App& command, std::uint64_t& seed, const std::string& text, const std::string& group) {
  command.add_option("--seed", seed, text + " [0]")->check(complaint_of_seed)->type_name("N")->group(group);
}

void declare_threads(CLI::App& command, int& n_threads, const std::string& group) {
  command.add_option("--threads", n_threads, "Results do not depend on it [0: all cores]")
      ->type_name("N")
      ->group(group);
}

void check_threads(int n_threads) {
  if (n_threads < 0 || n_threads > kMostThreads)
    throw UsageError(fmt::format("--threads {}: must lie between 0 and {}", n_threads, kMostThreads));
}

}  // namespace headspan::cli
