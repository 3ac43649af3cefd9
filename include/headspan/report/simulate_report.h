#pragma once
// A simulated experiment, rendered: terminal, JSON. Computes nothing.

#include <iosfwd>
#include <string>
#include <variant>

#include "headspan/experiments/facts.h"
#include "headspan/report/report.h"

namespace headspan::report {

using SimulateReport =
    std::variant<experiments::AngleFacts, experiments::LatentFacts, experiments::AdditiveFacts,
                 experiments::ForestFacts, experiments::ColonyFacts>;

/// The document described by docs/simulate.schema.json; numbers that are unknown or not finite are null.
void write_simulate_json(std::ostream& out, const SimulateReport& report, const std::string& version);

/// What was simulated, one line per dial value, and what the dial did.
void write_simulate_terminal(std::ostream& out, const SimulateReport& report, const TerminalStyle& style);

}  // namespace headspan::report
