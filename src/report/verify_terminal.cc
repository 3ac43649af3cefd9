#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "headspan/report/verify_report.h"
#include "report/number_text.h"
#include "report/text_table.h"

namespace headspan::report {
namespace {

using experiments::ClaimFacts;
using experiments::Comparison;
using experiments::Verdict;

constexpr std::size_t kFewClaims = 5;
constexpr std::array kVerdicts = {Verdict::confirmed, Verdict::reproduced, Verdict::undecided,
                                  Verdict::failed};

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::confirmed:
    case Verdict::reproduced:
      return Tone::good;
    case Verdict::undecided:
      return Tone::warning;
    case Verdict::failed:
      return Tone::bad;
  }
  return Tone::plain;
}

std::string value_text(double value) { return fmt::format("{:.6g}", value); }
std::string error_text(double error) { return fmt::format("{:.2g}", error); }

/// "4.2", or "< 0" where the claim is of a direction.
std::string expected_text(experiments::Relation relation, double expected) {
  return relation == experiments::Relation::equal
             ? value_text(expected)
             : fmt::format("{} {}", to_string(relation), value_text(expected));
}

std::string comparison_text(const Comparison& comparison) {
  if (comparison.relation != experiments::Relation::equal)
    return fmt::format("{}: expected {} by more than {}, measured {} +- {}", comparison.what,
                       expected_text(comparison.relation, comparison.expected), error_text(comparison.margin),
                       value_text(comparison.measured), error_text(comparison.error));
  return fmt::format("{}: expected {}, measured {} +- {}, agrees within {}; a wrong formula is {} off",
                     comparison.what, value_text(comparison.expected), value_text(comparison.measured),
                     error_text(comparison.error), error_text(comparison.margin),
                     error_text(comparison.effect));
}

void add_claim(TextTable& table, const ClaimFacts& claim, bool in_words) {
  table.add_row({{claim.id},
                 {expected_text(claim.relation, claim.expected)},
                 {value_text(claim.measured)},
                 {error_text(claim.error)},
                 {to_string(claim.verdict), tone_of(claim.verdict)}});
  if (!in_words) return;
  table.add_remark(claim.statement, Tone::plain);
  table.add_remark(fmt::format("the wrong formula: {}", claim.wrong), Tone::quiet);
  for (const Comparison& comparison : claim.comparisons)
    table.add_remark(comparison_text(comparison), Tone::quiet);
}

std::string summary(const std::vector<ClaimFacts>& claims) {
  std::string text;
  for (const Verdict verdict : kVerdicts) {
    const auto count = std::count_if(claims.begin(), claims.end(),
                                     [&](const ClaimFacts& claim) { return claim.verdict == verdict; });
    if (count > 0) append(text, ", ", fmt::format("{} {}", count, to_string(verdict)));
  }
  return text;
}

}  // namespace

void write_verify_terminal(std::ostream& out, const experiments::Verification& verification,
                           const TerminalStyle& style) {
  TextTable table({{"claim", false, 0}, {"expected"}, {"measured"}, {"+-"}, {"verdict", false}});
  const bool few = verification.claims.size() <= kFewClaims;
  for (const ClaimFacts& claim : verification.claims)
    add_claim(table, claim, few || claim.verdict == Verdict::failed || claim.verdict == Verdict::undecided);
  table.write(out, style.colour, style.width);
  out << fmt::format("\n{}: {}\n", counted(static_cast<std::int64_t>(verification.claims.size()), "claim"),
                     summary(verification.claims));
  out << wrapped(
      fmt::format(
          "Each row is the comparison that decides. Measured and expected agree within {} standard "
          "errors, or within the bound of an exact comparison; a claim counts only where the same "
          "numbers exclude its wrong formula. Where a direction is expected, < 0 or > 0, the measured "
          "number is that far on its side.",
          experiments::kStandardErrors),
      0, style.width);
  if (verification.options.mutate)
    out << "The wrong formula of each claim was put in place of the right one: every claim should fail.\n";
}

void write_claim_list(std::ostream& out, const std::vector<ClaimFacts>& claims, const TerminalStyle& style) {
  TextTable table({{"claim", false, 0}, {"kind", false}});
  for (const ClaimFacts& claim : claims) {
    table.add_row({{claim.id}, {to_string(claim.kind)}});
    table.add_remark(claim.statement, Tone::plain);
    table.add_remark(fmt::format("the wrong formula: {}", claim.wrong), Tone::quiet);
  }
  table.write(out, style.colour, style.width);
}

}  // namespace headspan::report
