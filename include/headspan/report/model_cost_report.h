#pragma once
// What each way of dividing a model's attention into heads costs, rendered. Computes nothing.

#include <iosfwd>
#include <string>
#include <vector>

#include "headspan/checkpoint/attention_shape.h"
#include "headspan/plan/model_cost.h"
#include "headspan/report/report.h"

namespace headspan::report {

struct ModelCostReport {
  checkpoint::AttentionShape model;
  plan::PairRules rules;
  plan::AttentionSize size;
  std::vector<plan::AttentionCost> pairs;
};

/// The document described by docs/plan_model.schema.json.
void write_model_cost_json(std::ostream& out, const ModelCostReport& report, const std::string& version);

/// The model's counts with their origin, and a row per pair.
void write_model_cost_terminal(std::ostream& out, const ModelCostReport& report, const TerminalStyle& style);

}  // namespace headspan::report
