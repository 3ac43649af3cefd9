#pragma once
// headspan plan DATA --y NAME: the plan that follows from a table.

#include "cli/plan_arguments.h"

namespace headspan::cli {

/// Returns the exit code; throws UsageError, ArgumentError, FileError and OutputError.
int run_plan_data(const PlanArguments& arguments);

}  // namespace headspan::cli
