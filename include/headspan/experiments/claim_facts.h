#pragma once
// What a run over the claims of the theory found, ready to be rendered.

#include <cstdint>
#include <string>
#include <vector>

namespace headspan::experiments {

/// What a claim is made of, which decides what can be asked of it.
enum class ClaimKind {
  identity,        ///< exact for any data: differs by rounding only
  closed_form,     ///< a formula against a numerical computation of the same quantity
  simulation,      ///< a formula against random draws
  counterexample,  ///< shows that a tempting statement is false; the formula says by how much
};

enum class Verdict {
  confirmed,   ///< every comparison agrees, and one could tell the wrong formula from the right one
  reproduced,  ///< the same of a counterexample
  undecided,   ///< every comparison agrees, but none is sharp enough to tell the wrong formula
  failed,      ///< some comparison disagrees
};

/// How a measured number must stand to the expected one.
enum class Relation {
  equal,  ///< to a formula that says how much
  below,  ///< less than zero: the claim is of a direction, and no formula says how much
  above,  ///< greater than zero
};

/// Words as printed: "closed form", "reproduced", "<".
const char* to_string(ClaimKind kind);
const char* to_string(Verdict verdict);
const char* to_string(Relation relation);

/// A comparison of standard errors agrees within this many of them. At this size chance alone disagrees once
/// in some two million comparisons, and so a formula that is off by twice as much passes as rarely.
inline constexpr double kStandardErrors = 5.0;

/// One number against its formula.
struct Comparison {
  std::string what;       ///< the case, "60 degrees"
  double expected = 0.0;  ///< by the formula under test; 0 of a direction
  double measured = 0.0;
  double error = 0.0;   ///< of `measured`: a standard error, or a bound
  double margin = 0.0;  ///< |measured - expected| up to this agrees: kStandardErrors errors, or the bound
  double effect = 0.0;  ///< how far the wrong formula lies from the right one here; NaN of a direction
  Relation relation = Relation::equal;
};

/// A claim and what became of it. `expected`, `measured`, `error` and `relation` are those of the comparison
/// that decides: of a failed claim the one that disagrees most, otherwise the one with the largest effect in
/// units of its margin.
struct ClaimFacts {
  std::string id;
  std::string statement;
  ClaimKind kind = ClaimKind::identity;
  std::string wrong;  ///< in words, the wrong formula that the comparisons must be able to reject
  double expected = 0.0;
  double measured = 0.0;
  double error = 0.0;
  Verdict verdict = Verdict::undecided;
  std::vector<Comparison> comparisons;
  Relation relation = Relation::equal;  ///< of that comparison
};

struct VerifyOptions {
  std::uint64_t seed = 0;
  bool thorough = false;  ///< a hundred times the draws: standard errors a tenth
  bool mutate = false;    ///< the wrong formula of each claim in place of the right one
};

struct Verification {
  VerifyOptions options;
  std::vector<ClaimFacts> claims;
};

}  // namespace headspan::experiments
