#include "headspan/estimator/model_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "headspan/checkpoint/container.h"
#include "headspan/estimator/fit.h"
#include "headspan/estimator/intervals.h"
#include "headspan/estimator/predict.h"
#include "headspan/estimator/variance.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/random.h"
#include "headspan/table/csv.h"

namespace headspan::estimator {
namespace {

namespace fs = std::filesystem;

table::Table example() {
  RandomStream random(3, 0);
  std::string text = "x,z,colour,y\n";
  for (int i = 0; i < 60; ++i) {
    const Matrix draw = random.normal_matrix(1, 3);
    const char* colour = i % 3 == 0 ? "red" : i % 3 == 1 ? "gr\xc3\xbcn" : "\"a \"\"b\"\"\"";
    text += (i % 11 == 0 ? std::string() : std::to_string(draw(0, 0))) + "," + std::to_string(draw(0, 1)) +
            "," + colour + "," + std::to_string(draw(0, 0) * draw(0, 1) + 0.1 * draw(0, 2) + i % 3) + "\n";
  }
  return table::parse_csv(text, "example.csv");
}

TableModel fitted(const table::Table& table, Combiner combiner, bool trend, int n_folds) {
  const TargetRows rows = target_rows(table, "y", std::nullopt);
  TableModel model{"y", std::nullopt, {}, {}, "headspan test"};
  model.encoding = learn_encoding(table, rows.rows, rows.target, rows.weight, {{"y"}, {}, {}, 64, 3.0});
  FitOptions options;
  options.recipe.combiner = combiner;
  options.recipe.trend = trend;
  options.recipe.n_heads = 3;
  options.recipe.head_dim = 2;
  options.recipe.iterations = 4;
  options.n_folds = n_folds;
  model.model = fit(encode(model.encoding, table, rows.rows).x, rows.target, Vector(), options).model;
  return model;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A test with a folder of its own and a saved model in it.
class ModelFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("headspan_" + std::to_string(::getpid()) + test->name());
    fs::create_directories(folder_);
    path_ = (folder_ / "model.headspan").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(ModelFile, PredictionsAreTheSameToTheBit) {
  const table::Table table = example();
  for (const Combiner combiner : {Combiner::sum, Combiner::simplex})
    for (const bool trend : {false, true})
      for (const int n_folds : {0, 3}) {
        const TableModel saved = fitted(table, combiner, trend, n_folds);
        save_model(path_, saved);
        const TableModel loaded = load_model(path_);
        const Matrix x = encode(saved.encoding, table, all_rows(table)).x;
        EXPECT_EQ(encode(loaded.encoding, table, all_rows(table)).x, x);
        const Predictions have = predict(loaded.model, x), want = predict(saved.model, x);
        EXPECT_EQ(have.value, want.value);
        EXPECT_EQ(have.n_eff, want.n_eff);
        EXPECT_EQ(have.extrapolated, want.extrapolated);
        EXPECT_EQ(predict_parts(loaded.model, x), predict_parts(saved.model, x));
        EXPECT_EQ(left_out_predictions(loaded.model), left_out_predictions(saved.model));
        if (n_folds > 0) {
          EXPECT_EQ(predict_intervals(loaded.model, x, 0.8).upper,
                    predict_intervals(saved.model, x, 0.8).upper);
        }
        const std::string first = bytes_of(path_);
        save_model(path_, loaded);
        EXPECT_EQ(bytes_of(path_), first);
      }
}

TEST_F(ModelFile, KeepsWhatIsKnownOfTheTable) {
  TableModel saved = fitted(example(), Combiner::mean, false, 0);
  saved.weight = "w";
  save_model(path_, saved);
  const TableModel loaded = load_model(path_);
  EXPECT_EQ(loaded.target, "y");
  EXPECT_EQ(loaded.weight, "w");
  EXPECT_EQ(loaded.written_by, "headspan test");
  EXPECT_EQ(loaded.encoding.facts.inputs, (std::vector<std::string>{"x", "x missing", "z", "colour = a \"b\"",
                                                                    "colour = gr\xc3\xbcn", "colour = red"}));
  EXPECT_EQ(loaded.encoding.facts.columns.at(2).use, ColumnUse::category);
  EXPECT_EQ(loaded.encoding.facts.columns.at(0).n_missing, 6);
  EXPECT_EQ(loaded.encoding.not_inputs, std::vector<std::string>{"y"});
  EXPECT_EQ(loaded.model.ensemble.estimates.at(0).recipe.combiner, Combiner::mean);
}

TEST_F(ModelFile, AModelOfAConstantTarget) {
  const table::Table table = table::parse_csv("x,y\n1,4\n2,4\n3,4\n4,4\n5,4\n", "t.csv");
  save_model(path_, fitted(table, Combiner::sum, false, 3));
  EXPECT_EQ(predict(load_model(path_).model, Matrix::Constant(1, 1, 9.0)).value[0], 4.0);
}

TEST_F(ModelFile, IsASafetensorsFileOfDoubles) {
  save_model(path_, fitted(example(), Combiner::sum, true, 3));
  const auto container = checkpoint::open_container(path_);
  EXPECT_EQ(container->metadata().at("format"), "headspan.model");
  ASSERT_NE(container->find("fold.2.0.head.0.projection"), nullptr);
  EXPECT_EQ(container->find("row.inputs")->shape, (std::vector<std::int64_t>{60, 6}));
}

TEST_F(ModelFile, EveryFlippedByteIsNoticed) {
  save_model(path_, fitted(example(), Combiner::mean, false, 0));
  const std::string whole = bytes_of(path_);
  const std::size_t step = whole.size() / 150 + 1;
  for (std::size_t at = 0; at < whole.size(); at += at < 40 ? 1 : step) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_THROW(load_model(write(damaged)), CheckpointError) << "byte " << at;
  }
}

TEST_F(ModelFile, EveryTruncationIsNoticed) {
  save_model(path_, fitted(example(), Combiner::mean, false, 0));
  const std::string whole = bytes_of(path_);
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{100},
                                 whole.size() / 2, whole.size() - 1}) {
    try {
      load_model(write(whole.substr(0, size)));
      ADD_FAILURE() << size;
    } catch (const CheckpointError& error) {
      EXPECT_EQ(error.fault(), FileFault::truncated) << error.what();
    }
  }
  EXPECT_THROW(load_model(write(whole + "x")), CheckpointError);
}

// Files that a program wrote with the right checksum, and that are wrong all the same.
void replace(std::string& bytes, const std::string& from, const std::string& to) {
  ASSERT_EQ(from.size(), to.size());
  const std::size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  bytes.replace(at, from.size(), to);
}

std::string sealed(std::string bytes) {
  const std::string key = "\"checksum\":\"";
  const std::size_t at = bytes.find(key) + key.size();
  bytes.replace(at, 8, "00000000");
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(crc.checksum()));
  return bytes.replace(at, 8, digits);
}

struct Defect {
  const char* from;
  const char* to;
  FileFault fault;
  const char* says;
};

TEST_F(ModelFile, EachDefectIsNamed) {
  save_model(path_, fitted(example(), Combiner::mean, false, 3));
  const std::string whole = bytes_of(path_);
  const std::vector<Defect> defects = {
      {R"("format_version":"3")", R"("format_version":"4")", FileFault::unsupported, "use a newer headspan"},
      {R"("format_version":"3")", R"("format_version":"x")", FileFault::malformed, "not a whole number"},
      {R"("format_version")", R"("format_revisio")", FileFault::malformed, "format_version"},
      {"headspan.model", "headspan.other", FileFault::unsupported, "no model of headspan fit"},
      {"\"table\":", "\"tabel\":", FileFault::malformed, "table"},
      {"\\\"target\\\"", "\\\"tarbet\\\"", FileFault::malformed, "target"},
      {"\\\"learned\\\"", "\\\"learnet\\\"", FileFault::malformed, "learnet"},
      {"\\\"n_fitted\\\":3", "\\\"n_fitted\\\":9", FileFault::malformed, "wants 9"},
      {"\\\"n_fitted\\\":3", "\\\"n_fitted\\\":2", FileFault::malformed, "wants 2"},
      {"\\\"n_fitted\\\":3", "\\\"n_fitted\\\":-", FileFault::malformed, "structure"},
      {"\\\"category\\\",", "\\\"catebory\\\",", FileFault::malformed, "catebory"},
      {"\"row.target\"", "\"row.tarbet\"", FileFault::malformed, "row.target"},
      {"\"shape\":[60,6]", "\"shape\":[6,60]", FileFault::malformed, "row.inputs"},
      {"\"shape\":[2,6]", "\"shape\":[6,2]", FileFault::malformed, "projection"},
  };
  for (const Defect& defect : defects) {
    std::string bytes = whole;
    replace(bytes, defect.from, defect.to);
    try {
      load_model(write(sealed(bytes)));
      ADD_FAILURE() << defect.says;
    } catch (const CheckpointError& error) {
      EXPECT_EQ(error.fault(), defect.fault) << error.what();
      EXPECT_NE(std::string(error.what()).find(defect.says), std::string::npos) << error.what();
    }
    EXPECT_THROW(load_model(write(bytes)), CheckpointError) << "without a new checksum: " << defect.says;
  }
}

TEST_F(ModelFile, FormatOneKnowsNoSharpenedHeads) {
  const TableModel model = fitted(example(), Combiner::mean, false, 3);
  save_model(path_, model);
  std::string bytes = bytes_of(path_);
  replace(bytes, R"("format_version":"3")", R"("format_version":"1")");
  const std::string key = R"(,\"sharpen\":false)";
  std::size_t at = 0;
  while ((at = bytes.find(key)) != std::string::npos) bytes.replace(at, key.size(), key.size(), ' ');
  const TableModel read = load_model(write(sealed(bytes)));
  EXPECT_FALSE(read.model.ensemble.estimates.front().recipe.sharpen);
  EXPECT_EQ(read.model.ensemble.estimates.front().values, model.model.ensemble.estimates.front().values);
}

TEST_F(ModelFile, SharpenedHeadsComeBack) {
  TableModel model = fitted(example(), Combiner::mean, false, 3);
  model.model.ensemble.estimates.front().recipe.sharpen = true;
  model.model.ensemble.estimates.front().heads[1].lowest = -1.5;
  model.model.ensemble.estimates.front().heads[1].sharpness = 7.5;
  save_model(path_, model);
  const MultiHead read = load_model(path_).model.ensemble.estimates.front();
  EXPECT_EQ(read.heads[1].sharpness, 7.5);
  EXPECT_TRUE(read.recipe.sharpen);
  EXPECT_EQ(read.heads[1].lowest, -1.5);
  EXPECT_EQ(read.heads[1].highest, std::numeric_limits<double>::infinity());
}

TEST_F(ModelFile, FormatTwoPredictsButHasNoVarianceOfSharpenedHeads) {
  TableModel model = fitted(example(), Combiner::mean, false, 0);
  model.model.ensemble.estimates.front().recipe.sharpen = true;
  for (FittedHead& head : model.model.ensemble.estimates.front().heads) head.sharpness = 2.0;
  save_model(path_, model);
  std::string bytes = bytes_of(path_);
  replace(bytes, R"("format_version":"3")", R"("format_version":"2")");
  const Model read = load_model(write(sealed(bytes))).model;
  const Matrix at = model.model.input_center.transpose();
  EXPECT_EQ(predict(read, at).value, predict(model.model, at).value);
  EXPECT_NO_THROW(prediction_variance(model.model, at, Noise::constant));
  EXPECT_THROW(prediction_variance(read, at, Noise::constant), ArgumentError);
}

TEST_F(ModelFile, PlacesOutsideAreRefused) {
  save_model(path_, fitted(example(), Combiner::mean, false, 3));
  const std::string whole = bytes_of(path_);
  for (const char* name : {"row.fold", "input.used", "ensemble.rows", "fold.1.rows"})
    for (const double wrong : {-1.0, 0.5, 1e6, 1e300, std::nan("")}) {
      std::string bytes = whole;
      write(whole);
      const std::uint64_t offset = checkpoint::open_container(path_)->find(name)->offset;
      bytes.replace(offset, sizeof wrong, reinterpret_cast<const char*>(&wrong), sizeof wrong);
      try {
        load_model(write(sealed(bytes)));
        ADD_FAILURE() << name << ' ' << wrong;
      } catch (const CheckpointError& error) {
        EXPECT_EQ(error.place().item, name);
      }
    }
}

TEST_F(ModelFile, OtherFilesAreNamedAsWhatTheyAre) {
  EXPECT_THROW(load_model(path_), CheckpointError);
  EXPECT_THROW(load_model(folder_.string()), CheckpointError);
  EXPECT_THROW(load_model(write("x,y\n1,2\n")), CheckpointError);
}

TEST_F(ModelFile, AModelThatDoesNotFitItsEncodingIsNotWritten) {
  TableModel model = fitted(example(), Combiner::mean, false, 0);
  model.encoding.columns.pop_back();
  EXPECT_THROW(save_model(path_, model), ArgumentError);
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
}  // namespace headspan::estimator
