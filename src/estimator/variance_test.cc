#include "headspan/estimator/variance.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "estimator/multi_head.h"
#include "estimator/smooth_adjoint.h"
#include "estimator/table_fixture.h"
#include "headspan/estimator/fit.h"
#include "headspan/estimator/predict.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/parallel.h"

namespace headspan::estimator {
namespace {

FitOptions recipe_for_variance(Combiner combiner, bool trend, bool sharpen) {
  FitOptions options;
  options.recipe = {trend, HeadKind::learned, combiner, 3, 2, 0.5, 0.0, 4, sharpen};
  options.n_folds = 0;
  return options;
}

/// The fit with its structure as it is and other targets, from the definitions and whole matrices.
class Refit {
 public:
  explicit Refit(const Model& model) : model_(model) {}

  /// Outputs of sharpened heads that were cut to their bounds so far.
  Index n_cut() const { return n_cut_; }

  /// [m] at standardised `at`, of targets `y` [n] in their own units.
  Vector predict(const Vector& y, const Matrix& at) const {
    const Vector& c = model_.frequency;
    const double center = c.dot(y) / c.sum();
    const Vector target = (y.array() - center) / model_.target_scale;
    Vector sum = Vector::Zero(at.rows());
    for (const MultiHead& estimate : model_.ensemble.estimates)
      sum += estimate.weight * predict_one(estimate, target, at);
    return center + model_.target_scale * sum.array();
  }

 private:
  /// [m, n] weights with `copies` [m, n] of every row.
  Matrix weights(const Matrix& projection, const Matrix& at, const Matrix& copies) const {
    Matrix out(at.rows(), model_.keys.rows());
    for (Index q = 0; q < out.rows(); ++q) {
      for (Index i = 0; i < out.cols(); ++i)
        out(q, i) =
            copies(q, i) *
            std::exp(-0.5 * (projection * (at.row(q) - model_.keys.row(i)).transpose()).squaredNorm());
      out.row(q) /= out.row(q).sum();
    }
    return out;
  }

  Matrix copies(Index m) const { return model_.frequency.transpose().replicate(m, 1); }

  Vector predict_one(const MultiHead& estimate, const Vector& target, const Matrix& at) const {
    const Recipe& recipe = estimate.recipe;
    Vector values = target, sum = Vector::Zero(at.rows());
    if (recipe.trend) {
      sum = with_intercept(at) * line(target, model_.frequency, estimate.ridge);
      for (Index i = 0; i < target.size(); ++i) {
        Vector without = model_.frequency;
        without[i] -= 1.0;
        values[i] -= (with_intercept(model_.keys.row(i)) * line(target, without, estimate.ridge))[0];
      }
    }
    for (const FittedHead& head : estimate.heads) {
      const Matrix w = weights(head.projection, at, copies(at.rows()));
      Vector smoothed = values;
      if (recipe.sharpen) smoothed = (1.0 + head.sharpness) * system(head).inverse() * values;
      sum += head.weight * cut(recipe, values, w * smoothed);
      if (recipe.combiner == Combiner::sum)
        values -= recipe.shrinkage * cut(recipe, values, left_out(recipe, head, values));
    }
    return sum;
  }

  Matrix system(const FittedHead& head) const {
    const Index n = model_.keys.rows();
    return Matrix::Identity(n, n) + head.sharpness * weights(head.projection, model_.keys, copies(n));
  }

  Vector left_out(const Recipe& recipe, const FittedHead& head, const Vector& values) const {
    const Index n = values.size();
    if (!recipe.sharpen) {
      Matrix without = copies(n);
      without.diagonal().array() -= 1.0;
      return weights(head.projection, model_.keys, without) * values;
    }
    const Matrix w = weights(head.projection, model_.keys, copies(n));
    const Matrix fit = (1.0 + head.sharpness) * w * system(head).inverse();
    const Vector leverage = fit.diagonal().cwiseQuotient(model_.frequency);
    return values - (values - fit * values).cwiseQuotient((1.0 - leverage.array()).matrix());
  }

  Vector cut(const Recipe& recipe, const Vector& values, const Vector& output) const {
    if (!recipe.sharpen) return output;
    const double slack = kBeyondTargets * (values.maxCoeff() - values.minCoeff());
    const Vector inside = output.cwiseMax(values.minCoeff() - slack).cwiseMin(values.maxCoeff() + slack);
    n_cut_ += (inside.array() != output.array()).count();
    return inside;
  }

  static Matrix with_intercept(const Matrix& at) {
    Matrix out(at.rows(), at.cols() + 1);
    out << at, Vector::Ones(at.rows());
    return out;
  }

  /// Slopes and intercept; the penalty is that of all rows, whatever the frequencies.
  Vector line(const Vector& y, const Vector& frequency, double ridge) const {
    const Matrix x = with_intercept(model_.keys);
    Matrix normal = x.transpose() * frequency.asDiagonal() * x;
    normal.diagonal().head(model_.keys.cols()).array() += ridge * model_.frequency.sum();
    return normal.inverse() * (x.transpose() * frequency.cwiseProduct(y));
  }

  const Model& model_;
  mutable Index n_cut_ = 0;
};

struct Case {
  Combiner combiner;
  bool trend, sharpen;
};

constexpr Case kCases[] = {
    {Combiner::mean, false, false}, {Combiner::sum, false, false},           {Combiner::simplex, true, false},
    {Combiner::sum, true, false},   {Combiner::least_squares, false, false}, {Combiner::mean, true, true},
    {Combiner::sum, true, true},    {Combiner::least_squares, false, true}};

Vector some_weights(Index n) {
  Vector weight = Vector::Ones(n);
  weight.head(n / 3).setConstant(3.0);
  return weight;
}

Vector targets_of(const Model& model) {
  return model.target_center + model.target_scale * model.target.array();
}

/// Three points among the rows and one so far outside that sharpened heads are cut.
Matrix queries(const Table& table) {
  Matrix at = table.x.topRows(4);
  at.row(3) *= 6.0;
  return at;
}

Matrix in_standard_units(const Model& model, const Matrix& x) {
  return (x.rowwise() - model.input_center.transpose()).array().rowwise() /
         model.input_scale.transpose().array();
}

Matrix in_units_of_table(const Model& model, const Matrix& standard) {
  return (standard.array().rowwise() * model.input_scale.transpose().array()).matrix().rowwise() +
         model.input_center.transpose();
}

TEST(Variance, WeightsAreWhatAUnitMoreInATargetAdds) {
  const Table table = smooth_table(24, 3, 5, 0.5);
  const Matrix x = queries(table);
  Index n_cut = 0;
  for (const Case& one : kCases) {
    SCOPED_TRACE(std::string(to_string(one.combiner)) + (one.trend ? " trend" : "") +
                 (one.sharpen ? " sharp" : ""));
    const Model model =
        fit(table.x, table.y, some_weights(24), recipe_for_variance(one.combiner, one.trend, one.sharpen))
            .model;
    const Matrix weights = target_weights(model, x), at = in_standard_units(model, x);
    const Vector y = targets_of(model), value = predict(model, x).value;
    EXPECT_LT((weights * y - value).cwiseAbs().maxCoeff(), 1e-10);
    const Refit refit(model);
    EXPECT_LT((refit.predict(y, at) - value).cwiseAbs().maxCoeff(), 1e-9);
    for (Index i = 0; i < y.size(); ++i) {
      Vector moved = y;
      moved[i] += 1e-3;
      const Vector added = (refit.predict(moved, at) - value) / 1e-3;
      EXPECT_LT((added - weights.col(i)).cwiseAbs().maxCoeff(), 1e-7) << i;
    }
    n_cut += refit.n_cut();
  }
  EXPECT_GT(n_cut, 0);
}

TEST(Variance, IsWhatFreshNoiseDoesToAFixedStructure) {
  const Table table = smooth_table(16, 2, 6, 0.3);
  const Matrix x = table.x.topRows(3);
  const Model model = fit(table.x, table.y, Vector(), recipe_for_variance(Combiner::sum, false, true)).model;
  const Matrix at = in_standard_units(model, x);
  const Vector spread = 0.1 + 0.3 * model.keys.col(0).cwiseAbs().array();
  const Vector expected = target_weights(model, x).cwiseAbs2() * spread.cwiseAbs2();
  constexpr Index kDraws = 200;
  RandomStream random(3, 0);
  const Refit refit(model);
  Matrix drawn(kDraws, 3);
  for (Index draw = 0; draw < kDraws; ++draw) {
    const Vector noise = 0.1 * spread.cwiseProduct(random.normal_matrix(16, 1).col(0));
    drawn.row(draw) = 10.0 * refit.predict(targets_of(model) + noise, at).transpose();
  }
  const Vector have = (drawn.rowwise() - drawn.colwise().mean()).colwise().squaredNorm() / (kDraws - 1.0);
  for (Index q = 0; q < 3; ++q) EXPECT_NEAR(have[q] / expected[q], 1.0, 5.0 * std::sqrt(2.0 / kDraws)) << q;
}

TEST(Variance, ConstantNoiseHasTheDegreesOfFreedomThatTheFitLeaves) {
  const Table table = smooth_table(30, 2, 7, 0.5);
  const Model model =
      fit(table.x, table.y, some_weights(30), recipe_for_variance(Combiner::sum, false, false)).model;
  // Every copy is a row of its own, with its share of the weight.
  Matrix weights = target_weights(model, in_units_of_table(model, model.keys));
  const Vector& c = model.frequency;
  const Vector residual = targets_of(model) - weights * targets_of(model);
  double left = c.sum() - 2.0 * weights.trace();
  for (Index i = 0; i < 30; ++i)
    for (Index j = 0; j < 30; ++j) left += c[i] * weights(i, j) * weights(i, j) / c[j];
  const double s2 = c.dot(residual.cwiseAbs2()) / left;
  const PredictionVariance have = prediction_variance(model, table.x.topRows(2), Noise::constant);
  const Matrix at = target_weights(model, table.x.topRows(2));
  for (Index q = 0; q < 2; ++q) {
    EXPECT_NEAR(have.noise[q] / s2, 1.0, 1e-9);
    EXPECT_NEAR(have.fit[q] / (s2 * at.row(q).cwiseAbs2().dot(c.cwiseInverse())), 1.0, 1e-9);
  }
}

TEST(Variance, ConstantNoiseIsThatOfTheData) {
  const Table table = smooth_table(400, 2, 8, 0.5);
  FitOptions options = recipe_for_variance(Combiner::mean, false, true);
  options.recipe.heads = HeadKind::diagonal;
  options.recipe.n_heads = 1;
  options.learn_rows = 100;
  const Model model = fit(table.x, table.y, Vector(), options).model;
  EXPECT_NEAR(prediction_variance(model, table.x.topRows(1), Noise::constant).noise[0], 0.25, 0.05);
}

TEST(Variance, LocalNoiseGrowsWhereTheDataScatter) {
  RandomStream random(9, 0);
  Matrix x = random.normal_matrix(300, 1);
  const Vector y = x.col(0) + x.col(0).cwiseAbs().cwiseProduct(random.normal_matrix(300, 1).col(0));
  FitOptions options = recipe_for_variance(Combiner::mean, true, false);
  options.recipe.n_heads = 1;
  const Model model = fit(x, y, Vector(), options).model;
  Matrix at(3, 1);
  at << -2.0, 0.0, 2.0;
  const PredictionVariance have = prediction_variance(model, at, Noise::local);
  EXPECT_LT(have.noise[1], 0.3);
  for (const Index q : {0, 2}) {
    EXPECT_GT(have.noise[q], 5.0 * have.noise[1]);
    EXPECT_NEAR(have.noise[q], 4.0, 3.0);
    EXPECT_GT(have.fit[q], prediction_variance(model, at, Noise::constant).fit[q]);
  }
}

TEST(Variance, DoesNotDependOnThreadsOrBlocks) {
  const Table table = smooth_table(200, 3, 10);
  FitOptions options = recipe_for_variance(Combiner::sum, true, false);
  options.learn_rows = 60;
  const Model model = fit(table.x, table.y, Vector(), options).model;
  const auto fitted_on = [&](int threads) {
    const ThreadLimit limit(threads);
    return prediction_variance(model, table.x.topRows(9), Noise::local);
  };
  const PredictionVariance one = fitted_on(1), two = fitted_on(2);
  EXPECT_EQ(one.fit, two.fit);
  EXPECT_EQ(one.noise, two.noise);
  const PredictionVariance alone = prediction_variance(model, table.x.topRows(1), Noise::local);
  EXPECT_NEAR(alone.fit[0] / one.fit[0], 1.0, 1e-12);
}

TEST(Variance, ARowFarFromAllOthersLeansOnTheNearest) {
  const Matrix x = (Matrix(3, 1) << 0, 1, 100).finished();
  const Vector frequency = (Vector(3) << 1, 2, 1).finished();
  const SmoothedRows rows{x, frequency};
  const Matrix projection = Matrix::Constant(1, 1, 10.0), values = (Matrix(3, 1) << 3, 5, 8).finished();
  const Smoothed left_out = smooth_left_out(rows, projection, values, {.n_eff = false});
  const Matrix weights =
      smooth_left_out_adjoint(rows, projection, left_out.log_normaliser, Matrix::Identity(3, 3));
  EXPECT_NEAR(weights(0, 1), 1.0, 1e-12);
  EXPECT_NEAR(weights(1, 1), 1.0, 1e-12);
  EXPECT_NEAR(weights(2, 1), 1.0, 1e-9);
  EXPECT_NEAR((weights * values - left_out.value).norm(), 0.0, 1e-8);
}

TEST(Variance, OfAMeanIsTheNoiseOverTheRows) {
  const Table table = smooth_table(20, 2, 11);
  FitOptions options = recipe_for_variance(Combiner::mean, false, false);
  options.recipe.n_heads = 0;
  const Model model = fit(table.x, table.y, Vector(), options).model;
  const double s2 = (table.y.array() - table.y.mean()).square().sum() / 19.0;
  const PredictionVariance have = prediction_variance(model, table.x.topRows(1), Noise::constant);
  EXPECT_NEAR(have.noise[0], s2, 1e-12);
  EXPECT_NEAR(have.fit[0], s2 / 20.0, 1e-12);
  EXPECT_THROW(prediction_variance(model, Matrix::Zero(1, 3), Noise::local), ArgumentError);
  EXPECT_EQ(noise_named("local"), Noise::local);
  EXPECT_FALSE(noise_named("loud"));
}

}  // namespace
}  // namespace headspan::estimator
