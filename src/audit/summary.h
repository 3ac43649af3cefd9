#pragma once
// What the layers say together: thresholds, totals, and two plain sentences.

#include <vector>

#include "headspan/audit/facts.h"

namespace headspan::audit {

std::vector<ThresholdFacts> judge_thresholds(const AuditReport& report);
/// Needs report.model, options and layers.
SummaryFacts summarise(const AuditReport& report);

}  // namespace headspan::audit
