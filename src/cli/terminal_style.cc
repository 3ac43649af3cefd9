#include "cli/terminal_style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace headspan::cli {

report::TerminalStyle terminal_style() {
  report::TerminalStyle style;
  if (isatty(STDOUT_FILENO) != 1) return style;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  style.colour =
      (no_colour == nullptr || *no_colour == '\0') && !(term != nullptr && std::string(term) == "dumb");
  winsize size{};
  constexpr int kNarrowest = 60;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp(static_cast<int>(size.ws_col), kNarrowest, style.width);
  return style;
}

}  // namespace headspan::cli
