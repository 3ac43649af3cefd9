#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace headspan::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenLines{100};

}  // namespace

ProgressLine::ProgressLine(std::string what, bool wanted)
    : what_(std::move(what)), active_(wanted && isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(std::size_t done, std::size_t total) {
  const Clock::time_point now = Clock::now();
  if (!active_ || done == 0 || (shown_ && now - last_ < kBetweenLines)) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double left = elapsed / static_cast<double>(done) * static_cast<double>(total - done);
  const std::string line =
      fmt::format("\r\033[K{} {} of {}, {} left", what_, done, total, duration_text(left));
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
  last_ = now;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace headspan::cli
