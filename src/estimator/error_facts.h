#pragma once
// Errors of a model in words of its facts.

#include "headspan/estimator/facts.h"
#include "headspan/estimator/model.h"

namespace headspan::estimator {

ErrorFacts leave_one_out_error(const Model& model);
/// Empty without residuals of folds.
std::optional<ErrorFacts> held_out_error(const Model& model);
std::vector<EstimateFacts> estimate_facts(const Model& model);

}  // namespace headspan::estimator
