#pragma once
// Measured curves: checks and straight lines between their points.

#include <vector>

#include "headspan/plan/profile.h"

namespace headspan::plan {

/// Throws ArgumentError, beginning with `name`, unless head dimensions increase from at least 1, and there is
/// one finite value (and, where given, one standard error that is not negative) for each.
void check_curve(const char* name, const MeasuredCurve& curve);

/// Whether `at` lies between the first and the last of `places`.
bool is_within(const Vector& places, double at);

/// The straight line between the neighbours of `at`. Throws ArgumentError outside.
double value_at(const Vector& places, const Vector& values, double at);

/// The measured curve of a bias, or nothing.
const MeasuredCurve* measured_bias(const BiasProfile& bias);

/// Every measured curve that a law rests on.
std::vector<const MeasuredCurve*> measured_curves(const LawOptions& options);

}  // namespace headspan::plan
