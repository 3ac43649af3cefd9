#include "headspan/numeric/optimize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "headspan/numeric/error.h"

namespace headspan {
namespace {

double rosenbrock(const Vector& x, Vector* gradient) {
  const double a = 1.0 - x[0], b = x[1] - x[0] * x[0];
  if (gradient) *gradient = Vector{{-2.0 * a - 400.0 * x[0] * b, 200.0 * b}};
  return a * a + 100.0 * b * b;
}

TEST(Minimize, FindsTheValleyWithAndWithoutAGradient) {
  const Vector start{{-1.2, 1.0}}, lower{{-5.0, -5.0}}, upper{{5.0, 5.0}};
  for (const MinimizeMethod method :
       {MinimizeMethod::quasi_newton, MinimizeMethod::quadratic_model, MinimizeMethod::subplex}) {
    const Minimum found = minimize(rosenbrock, start, lower, upper,
                                   {.method = method, .x_tolerance = 1e-12, .max_evaluations = 20000});
    EXPECT_NEAR(found.at[0], 1.0, 1e-6) << static_cast<int>(method);
    EXPECT_NEAR(found.at[1], 1.0, 1e-6) << static_cast<int>(method);
    EXPECT_LT(found.residual, 1e-5);
    EXPECT_GT(found.n_evaluations, 0);
  }
}

TEST(Minimize, AnEdgeOfTheBoxHasNoResidual) {
  const Minimum found =
      minimize(rosenbrock, Vector{{0.0, 0.0}}, Vector{{-5.0, -5.0}}, Vector{{0.5, 5.0}}, {});
  EXPECT_DOUBLE_EQ(found.at[0], 0.5);
  EXPECT_NEAR(found.at[1], 0.25, 1e-6);
  EXPECT_LT(found.residual, 1e-5);
  EXPECT_TRUE(found.converged);
}

TEST(Minimize, ExceptionsOfTheObjectivePassThrough) {
  const auto fails = [](const Vector&, Vector*) -> double { throw std::domain_error("no value"); };
  EXPECT_THROW(minimize(fails, Vector{{0.0}}, Vector{{-1.0}}, Vector{{1.0}}), std::domain_error);
}

TEST(Minimize, RefusesBadBoxes) {
  const Vector one = Vector::Ones(1), two = Vector::Ones(2);
  EXPECT_THROW(minimize(rosenbrock, two, one, two), ArgumentError);
  EXPECT_THROW(minimize(rosenbrock, two, 2.0 * two, two), ArgumentError);
  EXPECT_THROW(minimize(rosenbrock, one, one, one, {.method = MinimizeMethod::quadratic_model}),
               ArgumentError);
  EXPECT_THROW(minimize(rosenbrock, Vector(0), Vector(0), Vector(0)), ArgumentError);
}

}  // namespace
}  // namespace headspan
