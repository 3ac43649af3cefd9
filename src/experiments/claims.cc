#include "headspan/experiments/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "experiments/claim_groups.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/nearest_word.h"

namespace headspan::experiments {
namespace {

Comparison compare(const Claim& claim, const Measurement& measurement, const Formula& under_test) {
  if (!(measurement.error > 0.0))
    throw ArgumentError(fmt::format("claim {}: measurement '{}' has error {}, it must be above 0", claim.id,
                                    measurement.what, measurement.error));
  Comparison out;
  out.what = measurement.what;
  out.measured = measurement.value;
  out.error = measurement.error;
  out.margin = measurement.is_bound ? measurement.error : kStandardErrors * measurement.error;
  if (measurement.is_direction) {
    out.relation = under_test(measurement.at) < 0.0 ? Relation::below : Relation::above;
    out.effect = std::numeric_limits<double>::quiet_NaN();
  } else {
    out.expected = under_test(measurement.at);
    out.effect = std::abs(claim.formula(measurement.at) - claim.wrong_formula(measurement.at));
  }
  return out;
}

// Distance in margins, negative on the right side of a direction; what is not finite is farther than
// everything.
double disagreement(const Comparison& comparison) {
  const double off = comparison.measured - comparison.expected;
  const double distance = (comparison.relation == Relation::equal   ? std::abs(off)
                           : comparison.relation == Relation::below ? off
                                                                    : -off) /
                          comparison.margin;
  return std::isfinite(distance) ? distance : std::numeric_limits<double>::infinity();
}

bool agrees(const Comparison& comparison) { return disagreement(comparison) <= 1.0; }

// Above 1, agreement with one formula excludes agreement with the other.
double sharpness(const Comparison& comparison) {
  return comparison.relation == Relation::equal ? 0.5 * comparison.effect / comparison.margin
                                                : -disagreement(comparison);
}

// One sharp comparison is enough, but a direction that is not sharp was not shown.
bool decides(const std::vector<Comparison>& comparisons) {
  const auto is_sharp = [](const Comparison& comparison) { return sharpness(comparison) > 1.0; };
  return std::any_of(comparisons.begin(), comparisons.end(), is_sharp) &&
         std::all_of(comparisons.begin(), comparisons.end(), [&](const Comparison& comparison) {
           return comparison.relation == Relation::equal || is_sharp(comparison);
         });
}

const Comparison& worst(const std::vector<Comparison>& comparisons) {
  return *std::max_element(comparisons.begin(), comparisons.end(),
                           [](const auto& a, const auto& b) { return disagreement(a) < disagreement(b); });
}

const Comparison& sharpest(const std::vector<Comparison>& comparisons) {
  return *std::max_element(comparisons.begin(), comparisons.end(),
                           [](const auto& a, const auto& b) { return sharpness(a) < sharpness(b); });
}

// FNV-1a: a claim keeps its draws when others are added.
std::uint64_t seed_of(const Claim& claim, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : claim.id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash + seed;
}

[[noreturn]] void fail_unknown(const std::string& id, const std::vector<std::string>& known) {
  const std::string nearest = nearest_word(id, known);
  const std::string remedy =
      nearest.empty() ? "--list shows all of them" : fmt::format("is '{}' meant?", nearest);
  throw ArgumentError(fmt::format("there is no claim '{}'; {}", id, remedy));
}

std::vector<const Claim*> chosen(const std::vector<std::string>& ids) {
  std::vector<std::string> known;
  for (const Claim& claim : claims()) known.push_back(claim.id);
  for (const std::string& id : ids)
    if (std::find(known.begin(), known.end(), id) == known.end()) fail_unknown(id, known);
  std::vector<const Claim*> out;
  for (const Claim& claim : claims())
    if (ids.empty() || std::find(ids.begin(), ids.end(), claim.id) != ids.end()) out.push_back(&claim);
  return out;
}

}  // namespace

const char* to_string(ClaimKind kind) {
  switch (kind) {
    case ClaimKind::identity:
      return "identity";
    case ClaimKind::closed_form:
      return "closed form";
    case ClaimKind::simulation:
      return "simulation";
    case ClaimKind::counterexample:
      return "counterexample";
  }
  return "";
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::confirmed:
      return "confirmed";
    case Verdict::reproduced:
      return "reproduced";
    case Verdict::undecided:
      return "undecided";
    case Verdict::failed:
      return "failed";
  }
  return "";
}

const char* to_string(Relation relation) {
  switch (relation) {
    case Relation::equal:
      return "=";
    case Relation::below:
      return "<";
    case Relation::above:
      return ">";
  }
  return "";
}

const std::vector<Claim>& claims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> out;
    for (const auto group : {attention_claims, decomposition_claims, angle_claims, correlation_claims,
                             diversity_claims, weight_claims, allocation_claims, ensemble_claims})
      for (Claim& claim : group()) out.push_back(std::move(claim));
    return out;
  }();
  return all;
}

ClaimFacts describe(const Claim& claim) {
  ClaimFacts out;
  out.id = claim.id;
  out.statement = claim.statement;
  out.kind = claim.kind;
  out.wrong = claim.wrong;
  return out;
}

ClaimFacts judge(const Claim& claim, const std::vector<Measurement>& measurements,
                 const Formula& under_test) {
  if (measurements.empty()) throw ArgumentError(fmt::format("claim {}: nothing was measured", claim.id));
  ClaimFacts out = describe(claim);
  for (const Measurement& measurement : measurements)
    out.comparisons.push_back(compare(claim, measurement, under_test));
  const bool all_agree = std::all_of(out.comparisons.begin(), out.comparisons.end(), agrees);
  const Comparison& deciding = all_agree ? sharpest(out.comparisons) : worst(out.comparisons);
  if (!all_agree)
    out.verdict = Verdict::failed;
  else if (decides(out.comparisons))
    out.verdict = claim.kind == ClaimKind::counterexample ? Verdict::reproduced : Verdict::confirmed;
  out.expected = deciding.expected;
  out.measured = deciding.measured;
  out.error = deciding.error;
  out.relation = deciding.relation;
  return out;
}

ClaimFacts check_claim(const Claim& claim, const VerifyOptions& options) {
  const Trial trial(seed_of(claim, options.seed), options.thorough);
  return judge(claim, claim.measure(trial), options.mutate ? claim.wrong_formula : claim.formula);
}

Verification verify(const std::vector<std::string>& ids, const VerifyOptions& options,
                    const Progress& progress) {
  const std::vector<const Claim*> selected = chosen(ids);
  Verification out;
  out.options = options;
  for (const Claim* claim : selected) {
    out.claims.push_back(check_claim(*claim, options));
    if (progress) progress(out.claims.size(), selected.size());
  }
  return out;
}

}  // namespace headspan::experiments
