#include "headspan/estimator/deviation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimator/standardise.h"
#include "estimator/table_fixture.h"
#include "headspan/estimator/fit.h"
#include "headspan/estimator/predict.h"
#include "headspan/numeric/error.h"

namespace headspan::estimator {
namespace {

FitOptions quick_folds() {
  FitOptions options;
  options.recipe.n_heads = 2;
  options.recipe.head_dim = 2;
  options.recipe.iterations = 8;
  options.n_folds = 4;
  return options;
}

TEST(Deviation, IsTheSumOverTheRowsThatDefinesIt) {
  const Table table = smooth_table(60, 2, 1, 0.3);
  Vector weight = Vector::Ones(60);
  weight.head(20).setConstant(3.0);
  const Model model = fit(table.x, table.y, weight, quick_folds()).model;
  const Matrix at = 1.5 * table.x.topRows(6);
  const Vector have = predictive_deviation(model, at), center = predict(model, at).value;
  for (Index q = 0; q < 6; ++q) {
    double sum = 0.0;
    for (Index i = 0; i < model.frequency.size(); ++i) {
      const Member& member =
          model.folds[static_cast<std::size_t>(model.fold_of_row[static_cast<std::size_t>(i)])];
      const double other = member_prediction(model, member, standardised(model, at.row(q)))[0];
      const double apart = model.target_center + model.target_scale * other - center[q];
      sum += model.frequency[i] * (std::pow(model.target_scale * model.fold_residual[i], 2) + apart * apart);
    }
    EXPECT_NEAR(have[q], std::sqrt(sum / 100.0), 1e-10);
  }
}

TEST(Deviation, IsTheNoiseWhereTheFunctionIsLearned) {
  const Table table = smooth_table(400, 1, 2, 0.5);
  const Model model = fit(table.x, table.y, Vector(), quick_folds()).model;
  EXPECT_NEAR(predictive_deviation(model, Matrix::Zero(1, 1))[0], 0.5, 0.1);
}

TEST(Deviation, OfAModelWithoutFoldsIsThatOfItsLeftOutRows) {
  const Table table = smooth_table(20, 1, 3);
  FitOptions options = quick_folds();
  options.n_folds = 0;
  const Model model = fit(table.x, table.y, Vector(), options).model;
  const double expected = model.target_scale * std::sqrt(model.loo_residual.squaredNorm() / 20.0);
  EXPECT_NEAR(predictive_deviation(model, table.x)[7], expected, 1e-12);
  EXPECT_THROW(predictive_deviation(model, Matrix::Zero(1, 2)), ArgumentError);
}

}  // namespace
}  // namespace headspan::estimator
