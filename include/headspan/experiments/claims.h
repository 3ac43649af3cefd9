#pragma once
// The claims of the theory as experiments that can fail.
//
// A claim has a formula and a measurement that knows nothing of it. The measurement gives numbers with their
// errors, each at some arguments; the formula is evaluated at the same arguments. Beside the formula stands a
// wrong one, a mistake that could plausibly be made, and a claim is confirmed only where the same numbers
// reject the wrong formula.

#include <functional>
#include <string>
#include <vector>

#include "headspan/experiments/claim_facts.h"
#include "headspan/experiments/options.h"
#include "headspan/numeric/matrix.h"
#include "headspan/numeric/random.h"

namespace headspan::experiments {

/// A formula under test: arguments to a number. What the arguments are is between it and the measurement.
using Formula = std::function<double(const Vector& at)>;

/// A number and how well it is known.
struct Measurement {
  std::string what;
  Vector at;              ///< arguments of the formula
  double value = 0.0;     ///< what the formula should give
  double error = 0.0;     ///< its standard error, or a bound on its error; above 0
  bool is_bound = false;  ///< `error` is a bound: rounding, a grid step
  /// The claim is of a direction alone: its formula says -1 or 1, and `value` must be beyond the margin on
  /// that side of zero.
  bool is_direction = false;
};

/// What a measurement may draw. A thorough trial has ten times the size and ten times the replicates, or a
/// hundred times the replicates: standard errors and departures of order 1/n both fall tenfold.
class Trial {
 public:
  Trial(std::uint64_t seed, bool thorough) : seed_(seed), thorough_(thorough) {}
  std::uint64_t seed() const { return seed_; }
  /// Numbers of the claim's own, the same in any order and on any number of threads.
  RandomStream stream(Index replicate) const {
    return RandomStream(seed_, static_cast<std::uint64_t>(replicate));
  }
  /// Ten times as many, thorough. Of the size of a sample and of its replicates together.
  Index tenfold(Index count) const { return thorough_ ? 10 * count : count; }
  /// A hundred times as many, thorough. Of replicates alone, where the size of a sample does not matter.
  Index hundredfold(Index count) const { return thorough_ ? 100 * count : count; }

 private:
  std::uint64_t seed_;
  bool thorough_;
};

struct Claim {
  std::string id;  ///< lower case, words joined by hyphens
  std::string statement;
  ClaimKind kind = ClaimKind::identity;
  std::string wrong;  ///< what the wrong formula gets wrong, in words
  Formula formula;
  Formula wrong_formula;
  std::function<std::vector<Measurement>(const Trial& trial)> measure;
};

/// Every claim, in the order of the theory; ids are unique.
const std::vector<Claim>& claims();

/// The claim in words, before anything was measured: no comparisons, undecided.
ClaimFacts describe(const Claim& claim);

/// The verdict on measurements of a claim with `under_test` as its formula. A comparison agrees where
/// |measured - expected| <= margin, the margin being kStandardErrors standard errors, or the bound. Any
/// disagreement (or a number that is not finite): failed. Otherwise some margin must be less than half of the
/// distance between the claim's formula and its wrong formula there, so that the same numbers reject the
/// wrong formula: confirmed, or reproduced for a counterexample. Otherwise: undecided. A direction agrees
/// unless the number is beyond the margin on the wrong side of zero, and counts only where it is beyond it on
/// the right side; all directions of a claim must.
ClaimFacts judge(const Claim& claim, const std::vector<Measurement>& measurements, const Formula& under_test);

/// Measures one claim and judges it. The draws depend on the seed and the claim's id alone, so the result
/// does not depend on other claims or on the number of threads.
ClaimFacts check_claim(const Claim& claim, const VerifyOptions& options);

/// Runs the claims named by `ids`, every claim if empty, in the order of the registry and each once. Throws
/// ArgumentError on an unknown id, naming the nearest one. Cost: all of them some tens of seconds of one
/// core, a hundred times that when thorough.
Verification verify(const std::vector<std::string>& ids, const VerifyOptions& options,
                    const Progress& progress = {});

}  // namespace headspan::experiments
