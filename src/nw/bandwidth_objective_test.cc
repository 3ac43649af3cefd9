#include "nw/bandwidth_objective.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headspan/numeric/random.h"

namespace headspan::nw {
namespace {

/// Central differences of order four.
Vector differences(BandwidthObjective& objective, const Vector& theta, double e) {
  Vector slopes(theta.size());
  for (Index k = 0; k < theta.size(); ++k) {
    const auto at = [&](double step) {
      Vector moved = theta;
      moved[k] += step;
      return objective.value(moved);
    };
    slopes[k] = (8.0 * (at(e) - at(-e)) - (at(2.0 * e) - at(-2.0 * e))) / (12.0 * e);
  }
  return slopes;
}

void expect_gradient(const SelectionOptions& options, const Vector& theta, double e = 1e-3,
                     double tolerance = 1e-7, const std::vector<CategoryKernel>& kernels = {}) {
  RandomStream random(11, 0);
  const Matrix x = random.normal_matrix(70, 3);
  const Vector y = x.col(0).array().sin() + 0.3 * random.normal_matrix(70, 1).col(0).array();
  Categories categories{RowMatrix<std::int32_t>(70, std::ssize(kernels)), kernels};
  for (Index k = 0; k < categories.codes.size(); ++k)
    categories.codes.data()[k] = static_cast<std::int32_t>(4.0 * random.uniform());
  BandwidthObjective objective(x, y, options, categories);
  ASSERT_TRUE(objective.has_gradient());
  Vector gradient(theta.size());
  const double value = objective.value(theta, &gradient);
  EXPECT_EQ(value, objective.value(theta));
  const Vector want = differences(objective, theta, e);
  EXPECT_LT((gradient - want).norm(), tolerance * (1e-3 + want.norm()))
      << gradient.transpose() << " / " << want.transpose();
}

TEST(BandwidthObjective, GradientIsTheSlopeOfEveryCriterion) {
  for (const Kernel kernel :
       {Kernel{}, Kernel{KernelFunction::laplace}, Kernel{KernelFunction::laplace, KernelShape::product}})
    for (const Criterion criterion : {Criterion::loo, Criterion::gcv, Criterion::aicc}) {
      SCOPED_TRACE(std::string(to_string(kernel.function)) + " " + to_string(criterion));
      expect_gradient({.kernel = kernel, .criterion = criterion}, Vector{{-0.5, 0.1, 0.4}});
      expect_gradient({.kernel = kernel, .criterion = criterion, .per_dimension = false}, Vector{{-0.3}});
    }
}

TEST(BandwidthObjective, GradientWithCategories) {
  const std::vector<CategoryKernel> kernels{CategoryKernel::aitchison_aitken, CategoryKernel::li_racine,
                                            CategoryKernel::wang_van_ryzin,
                                            CategoryKernel::li_racine_ordered};
  for (const Kernel kernel : {Kernel{}, Kernel{KernelFunction::laplace}}) {
    expect_gradient({.kernel = kernel}, Vector{{-0.5, 0.1, 0.4, -2.0, -1.0, -0.5, -0.8}}, 1e-3, 1e-7,
                    kernels);
    expect_gradient({.kernel = kernel, .criterion = Criterion::aicc, .per_dimension = false},
                    Vector{{-0.5, -0.3, -1.0, -0.5, -0.8}}, 1e-3, 1e-7, kernels);
  }
}

TEST(BandwidthObjective, GradientWhereWeightsUnderflow) {
  // Logarithms of weights of several thousand: the criterion bends within a hundredth of a percent.
  expect_gradient({}, Vector{{-4.0, -4.1, -3.9}}, 1e-5, 1e-6);
  expect_gradient({.kernel = {KernelFunction::laplace}}, Vector{{-6.5, -6.3, -6.6}}, 1e-4, 1e-6);
}

}  // namespace
}  // namespace headspan::nw
