#pragma once
// One line on the terminal while the work goes on.

#include <chrono>
#include <string>

namespace headspan::cli {

/// Writes to standard error, and only where that is a terminal.
class ProgressLine {
 public:
  ProgressLine(std::string what, bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::size_t done, std::size_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool active_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_;
};

/// "12 s", "3 min 20 s", "1 h 05 min".
std::string duration_text(double seconds);

}  // namespace headspan::cli
