#pragma once
// What the command line of headspan nw says.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/outputs.h"
#include "cli/table_input.h"
#include "headspan/nw/category.h"

namespace headspan::cli {

struct NwArguments {
  std::string data;
  std::vector<std::string> x, ordered;
  std::string y;
  std::optional<std::string> at, json;
  std::string kernel = "gaussian", shape = "radial", bandwidth = "auto", criterion = "loo";
  std::string category_kernel, lambda = "auto";
  int n_starts = 5, n_threads = 0;
  std::uint64_t seed = 0;
  double relative_error = 0.0;
  bool no_scores = false, loo = false, nearest = false, quiet = false;
  TableArguments table;
};

/// The same, resolved.
struct NwOptions {
  table::CsvOptions csv;
  nw::Kernel kernel;
  Vector bandwidth;                ///< as given; empty where it is to be chosen
  Vector lambda;                   ///< the same, of the columns of categories
  nw::SelectionOptions selection;  ///< how to choose them
  nw::CategoryKernel unordered = nw::CategoryKernel::aitchison_aitken;
  nw::CategoryKernel ordered = nw::CategoryKernel::li_racine_ordered;
};

/// Declares every option on `command`, bound to `arguments`.
void declare(CLI::App& command, NwArguments& arguments);

/// Turns words into options and checks every range. Throws UsageError.
NwOptions resolve(const NwArguments& arguments);

}  // namespace headspan::cli
