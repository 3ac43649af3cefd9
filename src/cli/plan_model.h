#pragma once
// headspan plan --like CONFIG.json: what each pair of a model's attention costs.

#include "cli/plan_arguments.h"

namespace headspan::cli {

/// Returns the exit code; throws UsageError, ArgumentError, FileError and OutputError.
int run_plan_model(const PlanArguments& arguments);

}  // namespace headspan::cli
