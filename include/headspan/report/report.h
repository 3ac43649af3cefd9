#pragma once
// Facts rendered: terminal, JSON, CSV. Computes nothing.

#include <iosfwd>
#include <string>

#include "headspan/audit/facts.h"

namespace headspan::report {

struct TerminalStyle {
  bool colour = false;
  int width = 100;
};

/// One line per layer, the most redundant pairs, the reading in two sentences.
void write_terminal(std::ostream& out, const audit::AuditReport& report, const TerminalStyle& style);
/// Everything known of one head: "3.5", or "encoder.self.3.5". Throws ArgumentError where no such head
/// exists.
void write_explanation(std::ostream& out, const audit::AuditReport& report, const std::string& layer_head,
                       const TerminalStyle& style);
/// One threshold in words: "--min-hdi 0.9: smallest query_subspace HDI is 0.801: crossed by layers 0, 1".
std::string threshold_text(const audit::ThresholdFacts& threshold);
/// The document described by docs/audit.schema.json: unknown or non-finite numbers are null, matrices are
/// null unless asked for. Written layer by layer.
void write_json(std::ostream& out, const audit::AuditReport& report, bool matrices,
                const std::string& version);
/// A row per layer x source, one row without a source for a layer that has none (RFC 4180 quoting, LF line
/// ends; missing values are empty).
void write_csv(std::ostream& out, const audit::AuditReport& report);
/// A row per layer x source x pair; the angles, where known, as smallest, largest and a list separated by
/// semicolons.
void write_pairs_csv(std::ostream& out, const audit::AuditReport& report);

}  // namespace headspan::report
