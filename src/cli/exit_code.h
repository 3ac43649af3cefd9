#pragma once
// What the process says when it ends; 128 + n after signal n.

#include <stdexcept>

namespace headspan::cli {

enum ExitCode : int {
  kDone = 0,
  kThresholdCrossed = 1,  ///< a threshold the user set
  kClaimFailed = 1,       ///< a claim of headspan verify does not hold
  kUsage = 2,             ///< unknown option, value out of range, contradictory options
  kInput = 3,             ///< an input file cannot be used
  kPartial = 4,           ///< some row (layer, head, point) is not ok; beats kThresholdCrossed
  kOutput = 5,            ///< an output cannot be written
};

/// A command line that asks for something impossible; its message names the option and the rule.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace headspan::cli
