#include "cli/plan_model.h"

#include <ostream>

#include "cli/exit_code.h"
#include "cli/outputs.h"
#include "cli/terminal_style.h"
#include "headspan/report/model_cost_report.h"

namespace headspan::cli {

int run_plan_model(const PlanArguments& arguments) {
  if (arguments.data || arguments.bias || arguments.n || arguments.noise)
    throw UsageError("--like: costs need neither DATA nor a law; leave DATA, --n, --noise and --bias out");
  std::vector<Output> outputs;
  if (arguments.json) outputs.push_back({"--json", *arguments.json});
  check_outputs(outputs, {*arguments.like});
  report::ModelCostReport report;
  report.model = checkpoint::read_attention_shape(*arguments.like);
  const checkpoint::AttentionShape& model = report.model;
  report.rules = {arguments.budget.value_or(model.n_heads.value * model.head_dim.value),
                  arguments.exact || !arguments.budget, arguments.multiple_of, 1, arguments.d_model};
  report.size = {.d_model = model.d_model.value,
                 .n_layers = model.n_layers.value,
                 .n_stored_layers = model.n_stored_layers.value};
  // One key head per query head stays so; stored heads that are shared stay as many.
  if (arguments.n_kv_heads)
    report.size.n_kv_heads = *arguments.n_kv_heads;
  else if (model.n_kv_heads.value != model.n_heads.value)
    report.size.n_kv_heads = model.n_kv_heads.value;
  report.size.context = arguments.context;
  report.size.bytes = arguments.bytes;
  report.pairs = plan::attention_costs(report.size, report.rules);
  for (const Output& output : outputs)
    write_output(output, [&](std::ostream& out) { write_model_cost_json(out, report, HEADSPAN_VERSION); });
  write_table(outputs, arguments.quiet,
              [&](std::ostream& out) { write_model_cost_terminal(out, report, terminal_style()); });
  return kDone;
}

}  // namespace headspan::cli
