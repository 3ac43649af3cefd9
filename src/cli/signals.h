#pragma once
// Being interrupted without leaving half-written files.

namespace headspan::cli {

/// From here on SIGINT, SIGTERM and SIGHUP remove unfinished output files and end the process with 128 +
/// signal, and a reader of standard output that goes away is an ordinary write error.
void handle_signals();

}  // namespace headspan::cli
