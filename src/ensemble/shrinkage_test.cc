#include "headspan/ensemble/shrinkage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"

namespace headspan::ensemble {
namespace {

TEST(LedoitWolf, UnitsDoNotMatter) {
  Matrix rows = RandomStream(5, 0).normal_matrix(40, 3);
  rows.col(1) += rows.col(0);
  const Shrunk one = ledoit_wolf(rows);
  for (const double unit : {1e-100, 1e-3, 1e100}) {
    const Shrunk other = ledoit_wolf(unit * rows);
    EXPECT_NEAR(other.shrinkage / one.shrinkage, 1.0, 1e-12) << unit;
    EXPECT_NEAR(other.matrix(0, 1) / unit / unit / one.matrix(0, 1), 1.0, 1e-12) << unit;
  }
}

TEST(LedoitWolf, GivesTheDocumentedNumbersOfScikitLearn) {
  const std::filesystem::path path = HEADSPAN_SHARED_DIR "/data/ledoit_wolf_n50.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::vector<double> cells;
  while (std::getline(file, line)) {
    std::stringstream parts(line);
    for (std::string cell; std::getline(parts, cell, ',');) cells.push_back(std::stod(cell));
  }
  const Matrix rows = Eigen::Map<const Matrix>(cells.data(), static_cast<Index>(cells.size()) / 2, 2);
  ASSERT_EQ(rows.rows(), 50);
  const Shrunk found = ledoit_wolf(rows);
  EXPECT_NEAR(found.shrinkage, 0.23025406200239137, 1e-15);
  EXPECT_NEAR(found.matrix(0, 0), 0.44067331790709885, 1e-15);
  EXPECT_NEAR(found.matrix(0, 1), 0.16161585073939186, 1e-15);
  EXPECT_NEAR(found.matrix(1, 1), 0.8022629424651938, 1e-15);
}

TEST(LedoitWolf, KeepsTheTraceAndTheMean) {
  RandomStream random(2, 0);
  const Matrix rows = random.normal_matrix(20, 6).array() + 3.0;
  const Shrunk centred = ledoit_wolf(rows), raw = ledoit_wolf(rows, Centring::none);
  const Matrix moments = rows.transpose() * rows / 20.0;
  EXPECT_NEAR(raw.matrix.trace(), moments.trace(), 1e-12);
  EXPECT_NEAR(raw.target, moments.trace() / 6.0, 1e-13);
  EXPECT_NEAR(raw.matrix(0, 1), (1.0 - raw.shrinkage) * moments(0, 1), 1e-13);
  EXPECT_LT(centred.target, 2.0);
  EXPECT_NEAR(ledoit_wolf(rows.array() + 1e3).shrinkage, centred.shrinkage, 1e-9);
}

TEST(LedoitWolf, ComesCloserToTheTruthThanTheSampleDoes) {
  const Index p = 12, n = 15;
  const Vector sd = Vector::LinSpaced(p, 0.7, 1.3);
  const Matrix truth = sd.array().square().matrix().asDiagonal();
  double shrunk = 0.0, sample = 0.0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Matrix rows = RandomStream(seed, 1).normal_matrix(n, p) * sd.asDiagonal();
    shrunk += (ledoit_wolf(rows, Centring::none).matrix - truth).squaredNorm();
    sample += (rows.transpose() * rows / static_cast<double>(n) - truth).squaredNorm();
  }
  EXPECT_LT(shrunk, 0.2 * sample);
}

TEST(LedoitWolf, ManyRowsAreTakenAsTheyAre) {
  const Vector sd = Eigen::Vector3d(0.2, 1.0, 3.0);
  const Matrix rows = RandomStream(3, 1).normal_matrix(20000, 3) * sd.asDiagonal();
  EXPECT_LT(ledoit_wolf(rows).shrinkage, 1e-3);
}

TEST(LedoitWolf, OfDegenerateRows) {
  EXPECT_EQ(ledoit_wolf(Matrix::Ones(5, 1)).matrix(0, 0), 0.0);
  EXPECT_EQ(ledoit_wolf(Matrix::Ones(5, 3)).shrinkage, 0.0);
  const Matrix one = Eigen::RowVector2d(1.0, 2.0);
  EXPECT_NEAR(ledoit_wolf(one, Centring::none).matrix.trace(), 5.0, 1e-15);
  EXPECT_THROW(ledoit_wolf(Matrix(0, 2)), ArgumentError);
  EXPECT_THROW(ledoit_wolf(Matrix::Constant(1, 1, NAN)), ArgumentError);
  EXPECT_THROW(shrink_second_moments(Matrix::Ones(2, 1), 1.0, 3), ArgumentError);
  EXPECT_THROW(shrink_second_moments(Matrix::Ones(1, 1), 1.0, 0), ArgumentError);
}

}  // namespace
}  // namespace headspan::ensemble
