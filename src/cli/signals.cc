#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

#include "headspan/numeric/io.h"

namespace headspan::cli {
namespace {

// The work between two progress calls can take minutes, so the process ends here and not at the next of them.
extern "C" void end_on_signal(int signal) {
  remove_pending_outputs();
  _exit(128 + signal);
}

}  // namespace

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = end_on_signal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // A signal the parent ignores (nohup) stays ignored.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace headspan::cli
