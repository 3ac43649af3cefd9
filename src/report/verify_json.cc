#include <nlohmann/json.hpp>
#include <ostream>

#include "headspan/report/verify_report.h"
#include "report/json_values.h"

namespace headspan::report {
namespace {

using experiments::ClaimFacts;
using Json = nlohmann::ordered_json;

Json comparison_object(const experiments::Comparison& comparison) {
  return {{"what", comparison.what},
          {"relation", to_string(comparison.relation)},
          {"expected", number(comparison.expected)},
          {"measured", number(comparison.measured)},
          {"error", number(comparison.error)},
          {"margin", number(comparison.margin)},
          {"effect", number(comparison.effect)}};
}

Json claim_object(const ClaimFacts& claim) {
  Json comparisons = Json::array();
  for (const experiments::Comparison& comparison : claim.comparisons)
    comparisons.push_back(comparison_object(comparison));
  return {{"id", claim.id},
          {"statement", claim.statement},
          {"kind", to_string(claim.kind)},
          {"relation", to_string(claim.relation)},
          {"expected", number(claim.expected)},
          {"measured", number(claim.measured)},
          {"error", number(claim.error)},
          {"verdict", to_string(claim.verdict)},
          {"wrong", claim.wrong},
          {"comparisons", std::move(comparisons)}};
}

}  // namespace

void write_verify_json(std::ostream& out, const experiments::Verification& verification,
                       const std::string& version) {
  const experiments::VerifyOptions& options = verification.options;
  Json claims = Json::array();
  for (const ClaimFacts& claim : verification.claims) claims.push_back(claim_object(claim));
  const Json document = {
      {"headspan_version", version},
      {"kind", "verify"},
      {"options", {{"seed", options.seed}, {"thorough", options.thorough}, {"mutate", options.mutate}}},
      {"claims", std::move(claims)}};
  out << document.dump() << '\n';
}

}  // namespace headspan::report
