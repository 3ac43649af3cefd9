#pragma once
// Claims of the theory and what became of them, rendered: terminal, JSON. Computes nothing.

#include <iosfwd>
#include <string>
#include <vector>

#include "headspan/experiments/claim_facts.h"
#include "headspan/report/report.h"

namespace headspan::report {

/// The document described by docs/verify.schema.json; numbers that are not finite are null.
void write_verify_json(std::ostream& out, const experiments::Verification& verification,
                       const std::string& version);

/// A line per claim, a summary, and the words of every claim that is not as it should be, or of all where
/// there are few.
void write_verify_terminal(std::ostream& out, const experiments::Verification& verification,
                           const TerminalStyle& style);

/// Names, kinds and statements of claims, without their results.
void write_claim_list(std::ostream& out, const std::vector<experiments::ClaimFacts>& claims,
                      const TerminalStyle& style);

}  // namespace headspan::report
