#pragma once
// A Nadaraya-Watson fit of one table, rendered. Computes nothing.

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "headspan/nw/category.h"
#include "headspan/report/report.h"
#include "headspan/table/inputs.h"

namespace headspan::report {

/// A file as it was understood, and the rows of it that could not be used.
struct InputFacts {
  table::Understood understood;
  std::vector<table::DroppedRow> dropped;
};

/// The inputs that are categories, and what the points say in them.
struct NwCategories {
  std::vector<table::CategoryColumn> columns;
  std::vector<nw::CategoryKernel> kernels;       ///< of each column
  Vector lambda;                                 ///< of each column
  RowMatrix<std::int32_t> points;                ///< [m, columns], as table::InputRows has them
  std::vector<std::vector<std::string>> unseen;  ///< of each column
};

struct NwReport {
  InputFacts input;
  std::optional<InputFacts> at;  ///< the file of the points, where they are not the training rows
  std::vector<std::string> x;    ///< names of the inputs
  std::string y;                 ///< name of the target
  nw::Kernel kernel;
  bool nearest_if_none = false;
  double relative_error = 0.0;  ///< allowed in the estimates, as in nw::EstimateOptions
  std::optional<nw::SelectionOptions> selection_options;  ///< empty: the bandwidth was given
  std::optional<nw::BandwidthSelection> selection;        ///< set where selection_options is
  Index n = 0;                                            ///< training rows used
  Vector bandwidth;                          ///< one for all inputs that are numbers or one for each
  NwCategories categories;                   ///< without columns where every input is a number
  std::optional<nw::SmootherScores> scores;  ///< absent: not asked for
  Matrix points;                             ///< [m, inputs that are numbers]
  std::vector<std::int64_t> lines;           ///< [m], source line of each point
  nw::Estimate<double> estimate;             ///< at the points
  /// [m] estimates without the point's own row; empty unless asked for.
  std::optional<nw::Estimate<double>> leave_one_out;
};

/// The document described by docs/nw.schema.json; numbers that are unknown or not finite are null.
void write_nw_json(std::ostream& out, const NwReport& report, const std::string& version);

/// What was understood of the files, bandwidths, scores, and the first points.
void write_nw_terminal(std::ostream& out, const NwReport& report, const TerminalStyle& style);

}  // namespace headspan::report
