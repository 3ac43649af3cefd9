#pragma once
// How standard output wants to be written to.

#include "headspan/report/report.h"

namespace headspan::cli {

/// Colour on a terminal unless NO_COLOR is set or TERM is dumb; the width of the terminal, at most the
/// default.
report::TerminalStyle terminal_style();

}  // namespace headspan::cli
