#include <gtest/gtest.h>

#include <sstream>

#include "headspan/numeric/error.h"
#include "headspan/report/report.h"
#include "report/example_report.h"
#include "report/number_text.h"
#include "report/weight_place.h"

namespace headspan::report {
namespace {

std::string terminal(const audit::AuditReport& report, bool colour = false) {
  std::ostringstream out;
  write_terminal(out, report, {colour, 100});
  return out.str();
}

std::string explanation(const audit::AuditReport& report, const std::string& name) {
  std::ostringstream out;
  write_explanation(out, report, name, {false, 100});
  return out.str();
}

// The words of the first line that begins with `start`, blanks aside.
std::vector<std::string> words_of_line(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (!words.empty() && words.front() == start) return words;
  }
  return {};
}

using Words = std::vector<std::string>;

TEST(Terminal, GivesEachLayerOneLineWithItsBaselineUnderIt) {
  const std::string text = terminal(example_report());
  EXPECT_EQ(words_of_line(text, "0"), (Words{"0", "SEP", "2", "1", "4", "0.100", "-13.0", "-", "-", "-", "-",
                                             "-", "-", "1.12", "1/0", "ok"}));
  EXPECT_EQ(words_of_line(text, "random"), (Words{"random", "0.750", "-", "-", "-"}));
}

TEST(Terminal, ShowsEachBaselineOnceForTheLayersThatShareIt) {
  audit::AuditReport report = example_report();
  report.layers = {example_layer(0), example_layer(1), example_layer(2), example_layer(3)};
  report.layers[1].sources.clear();
  report.layers[3].sources[0].diversity.baseline = 0.5;
  const std::string text = terminal(report);
  const std::size_t first = text.find("random  "), second = text.find("random  ", first + 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_EQ(text.find("random  ", second + 1), std::string::npos);
  EXPECT_EQ(words_of_line(text.substr(first), "random")[1], "0.750");
  EXPECT_EQ(words_of_line(text.substr(second), "random")[1], "0.500");
  EXPECT_EQ(words_of_line(text.substr(first, second - first), "2").size(), 0u);
  EXPECT_EQ(words_of_line(text.substr(first, second - first), "3").size(), 16u);
}

TEST(Terminal, KeepsTheRowOfARefusedLayerWithoutAnyZero) {
  const std::string text = terminal(example_report());
  const Words row = words_of_line(text, "1");
  ASSERT_EQ(row.size(), 16u);
  for (std::size_t i = 1; i + 1 < row.size(); ++i) EXPECT_EQ(row[i], "-") << i;
  EXPECT_EQ(row.back(), "refused");
  EXPECT_NE(text.find("layers.1.q: dtype F8_E4M3"), std::string::npos);
}

TEST(Terminal, FitsAHundredColumns) {
  std::istringstream lines(terminal(example_report()));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_FALSE(line.ends_with(" ")) << line;
  }
}

TEST(Terminal, ListsPairsThresholdsAndReading) {
  const std::string text = terminal(example_report());
  const std::string title = "Most redundant pairs of query_subspace";
  ASSERT_NE(text.find(title), std::string::npos);
  const std::string pairs = text.substr(text.find(title));
  EXPECT_EQ(words_of_line(pairs, "0"),
            (Words{"0", "0,", "1", "0.900", "+12.5", "2e-09", "30", "60", "aligned"}));
  EXPECT_NE(text.find("--min-hdi 0.5: smallest query_subspace HDI is 0.100: crossed by layer 0"),
            std::string::npos);
  EXPECT_NE(text.find("The heads are alike."), std::string::npos);
  EXPECT_NE(text.find("One layer could not be read."), std::string::npos);
}

TEST(Terminal, ColoursOnlyWhenAsked) {
  EXPECT_EQ(terminal(example_report(), false).find('\033'), std::string::npos);
  EXPECT_NE(terminal(example_report(), true).find("\033[31mrefused\033[0m"), std::string::npos);
}

TEST(Terminal, DoesNotPassControlCharactersOfAFileOn) {
  audit::AuditReport report = example_report();
  report.model.path = "evil\033[2J";
  report.layers[1].reason = "bell\a";
  const std::string text = terminal(report);
  EXPECT_EQ(text.find_first_of("\033\a"), std::string::npos);
  EXPECT_NE(text.find("evil?[2J"), std::string::npos);
}

TEST(Explain, TellsPlaceRanksNormsAndPartners) {
  const std::string text = explanation(example_report(), "0.1");
  EXPECT_NE(text.find("query head 1 of 2, reads key/value head 0 of 1, shared by heads 0 to 1"),
            std::string::npos);
  EXPECT_EQ(words_of_line(text, "query"), (Words{"query", "layers.q", "rows", "4-7", "4", "of", "4"}));
  EXPECT_EQ(words_of_line(text, "key"), (Words{"key", "layers.k", "rows", "0-3", "4", "of", "4"}));
  EXPECT_EQ(words_of_line(text, "output"), (Words{"output", "layers.o", "columns", "4-7", "4", "of", "4"}));
  EXPECT_EQ(words_of_line(text, "query_subspace"),
            (Words{"query_subspace", "1", "0", "0.900", "+12.5", "1e-09", "2e-09", "30", "60", "aligned"}));
  EXPECT_EQ(words_of_line(text, "key_subspace"), (Words{"key_subspace", "0", "-", "-"}));
}

TEST(Explain, SaysWhyAHeadOfARefusedLayerIsNotKnown) {
  const std::string text = explanation(example_report(), "1.0");
  EXPECT_NE(text.find("status refused: layers.1.q: dtype F8_E4M3"), std::string::npos);
}

TEST(Explain, RefusesNamesThatAreNotThere) {
  const audit::AuditReport report = example_report();
  for (const char* name : {"0.2", "7.0", "0", "0.", ".0", "0.x", "0.-1", "0.1 ", ""})
    EXPECT_THROW(explanation(report, name), ArgumentError) << name;
}

TEST(NumberText, MarksWhatIsMissing) {
  const std::optional<double> none;
  for (const std::string& text : {fixed_text(none), z_text(none), probability_text(none), short_text(none),
                                  degrees_text(none), count_text(0), fixed_text(std::nan(""))})
    EXPECT_EQ(text, "-");
  EXPECT_EQ(fixed_text(-1e-9), "0.000");
  EXPECT_EQ(z_text(-123.4), "-123");
  EXPECT_EQ(z_text(-0.01), "0.0");
  EXPECT_EQ(probability_text(1.0), "1");
  EXPECT_EQ(probability_text(3e-299), "3e-299");
  EXPECT_EQ(probability_text(5e-324), "<1e-300");
  EXPECT_EQ(probability_text(0.0), "<1e-300") << "underflow: no pair has probability 0";
}

// Where the rows of one head lie, counted by hand from the definition of each order.
TEST(WeightPlaceOf, FollowsTheOrderOfTheFusedMatrix) {
  audit::LayerFacts layer;
  layer.n_heads = 4;
  layer.n_kv_heads = 2;
  layer.head_dim = layer.value_dim = 10;
  layer.tensors = {{"fused", "qkv"}, {"output", "o"}};
  layer.code = "S3";  // q0 q1 q2 q3 k0 k1 v0 v1
  EXPECT_EQ(weight_place(layer, Role::query, 3).range, "rows 30-39");
  EXPECT_EQ(weight_place(layer, Role::key, 3).range, "rows 50-59");
  EXPECT_EQ(weight_place(layer, Role::value, 1).range, "rows 60-69");
  layer.code = "S3+T";
  EXPECT_EQ(weight_place(layer, Role::value, 1).range, "columns 60-69");
  EXPECT_EQ(weight_place(layer, Role::output, 1).range, "rows 10-19");
  layer.code = "IG";  // q0 q1 k0 v0 q2 q3 k1 v1
  EXPECT_EQ(weight_place(layer, Role::query, 3).range, "rows 50-59");
  EXPECT_EQ(weight_place(layer, Role::key, 2).range, "rows 60-69");
  EXPECT_EQ(weight_place(layer, Role::value, 0).range, "rows 30-39");
  layer.n_kv_heads = 4;
  layer.code = "I3";  // q0 k0 v0 q1 k1 v1 ...
  EXPECT_EQ(weight_place(layer, Role::value, 1).range, "rows 50-59");
  layer.n_heads = layer.n_kv_heads = 8;
  layer.code = "QVK4";  // slab 0: q0 q1 v0 v1 k0 k1, slab 1: q2 q3 ...
  EXPECT_EQ(weight_place(layer, Role::query, 3).range, "rows 70-79");
  EXPECT_EQ(weight_place(layer, Role::value, 1).range, "rows 30-39");
  EXPECT_EQ(weight_place(layer, Role::key, 2).range, "rows 100-109");
}

}  // namespace
}  // namespace headspan::report
