#include <ostream>

#include "headspan/report/regression_report.h"
#include "report/csv_row.h"
#include "report/number_text.h"

namespace headspan::report {

void write_predict_csv(std::ostream& out, const PredictReport& report) {
  std::vector<std::string> names = {"line", report.target};
  if (report.interval) names.insert(names.end(), {"lower", "upper"});
  if (report.noise) names.insert(names.end(), {"fit_variance", "noise_variance"});
  names.insert(names.end(), {"n_eff", "extrapolated"});
  write_csv_row(out, names);
  for (Index i = 0; i < report.value.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    std::vector<std::string> row = {std::to_string(report.lines[at]), exact_text(report.value[i])};
    if (report.interval) row.insert(row.end(), {exact_text(report.lower[i]), exact_text(report.upper[i])});
    if (report.noise)
      row.insert(row.end(), {exact_text(report.fit_variance[i]), exact_text(report.noise_variance[i])});
    row.insert(row.end(), {exact_text(report.n_eff[i]), report.extrapolated[at] ? "1" : "0"});
    write_csv_row(out, row);
  }
}

}  // namespace headspan::report
