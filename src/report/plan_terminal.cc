#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "headspan/report/plan_report.h"
#include "report/number_text.h"
#include "report/plan_parts.h"
#include "report/terminal.h"
#include "report/text_table.h"

namespace headspan::report {
namespace {

constexpr std::size_t kRowsShown = 16;

struct BiasText {
  std::string operator()(const plan::ExponentialBias& b) const {
    return fmt::format("{:.4g} exp(-{:.4g} k)", b.scale, b.rate);
  }
  std::string operator()(const plan::PolynomialBias& b) const {
    return fmt::format("{:.4g} k^-{:.4g}", b.scale, b.power);
  }
  std::string operator()(const plan::FiniteBias& b) const {
    return fmt::format("{:.4g} (1 - k/{:.4g}), 0 beyond", b.scale, b.dimension);
  }
  std::string operator()(const plan::MeasuredCurve& curve) const {
    return fmt::format("measured at {} from {:.4g} to {:.4g}",
                       counted(curve.head_dim.size(), "head dimension"), curve.head_dim[0],
                       curve.head_dim[curve.head_dim.size() - 1]);
  }
  std::string operator()(const plan::MeasuredBias& measured) const { return (*this)(measured.shared); }
};

struct GrowthText {
  double bandwidth;
  std::string operator()(const plan::FixedGrowth& growth) const {
    return fmt::format("{:.5g}: the variance grows by {:.5g} a dimension", bandwidth,
                       std::exp(growth.log_growth));
  }
  std::string operator()(const plan::BestBandwidth& best) const {
    return fmt::format("the best for every pair, signal {:.4g}", best.signal);
  }
  std::string operator()(const plan::MeasuredGrowth& measured) const {
    return fmt::format("that of the heads measured, {}", BiasText{}(measured.log_variance));
  }
};

struct CorrelationText {
  std::string operator()(const plan::OrthogonalHeads&) const { return "orthogonal, 0"; }
  std::string operator()(const plan::FrameBound& frame) const {
    return fmt::format("least mean overlap in {:.6g} dimensions", frame.d_model);
  }
  std::string operator()(const plan::CommonCorrelation& common) const {
    return fmt::format("{:.4g} for every pair", common.rho);
  }
  std::string operator()(const plan::MeasuredCurve& curve) const { return BiasText{}(curve); }
};

void write_question(std::ostream& out, const PlanReport& report, const TerminalStyle& style) {
  const plan::LawOptions& law = report.law;
  write_budget(out, report.rules, style);
  write_entry(out, "data", fmt::format("n {:.6g}, noise variance {:.6g}", law.n, law.noise), style);
  write_entry(out, "bias", fmt::format("B(k) = {}", std::visit(BiasText{}, law.bias)), style);
  write_entry(out, "bandwidth", std::visit(GrowthText{report.bandwidth}, law.growth), style);
  write_entry(out, "correlation", std::visit(CorrelationText{}, law.correlation), style);
}

std::string range_text(const plan::Allocation& found) {
  if (!found.reliable_to) return "no admissible head_dim lies in the range of the law, growth^k <= sqrt(n)";
  std::string text = fmt::format("the law holds to head_dim {}, growth^k <= sqrt(n)", *found.reliable_to);
  const plan::PairError& best = found.curve[found.best].error;
  if (best.capped) return text + "; the best pair's variance is only a bound, the noise itself";
  if (best.beyond_range) return text + "; the best pair lies beyond, where the law overstates the variance";
  return text;
}

void write_answer(std::ostream& out, const plan::Allocation& found, const TerminalStyle& style) {
  const plan::PlanPoint& best = found.curve[found.best];
  write_entry(out, "best",
              fmt::format("{}: mse {:.5g} = squared bias {:.4g} + variance {:.4g}", pair_text(best.pair),
                          best.error.mse, best.error.squared_bias, best.error.variance),
              style);
  const std::string margin = found.has_standard_error ? "one standard error of the difference" : "1 %";
  write_entry(out, "near-ties", near_ties_text(found, margin), style);
  write_plan_notes(out, found, style);
  write_entry(out, "range", range_text(found), style);
  if (!found.out_of_reach.empty())
    write_entry(out, "left out",
                fmt::format("{} that the measured curves do not reach",
                            counted(static_cast<std::int64_t>(found.out_of_reach.size()), "head dimension")),
                style);
}

void write_scaling(std::ostream& out, const plan::Scaling& scaling, const TerminalStyle& style) {
  write_entry(out, "regime", fmt::format("{}: {}", scaling.regime.name, scaling.regime.law), style);
  if (scaling.closed_form)
    write_entry(out, "closed form",
                fmt::format("{} ({}{})", continuous_text(scaling.closed_form->pair),
                            scaling.closed_form->exact ? "" : "a limit: ", scaling.closed_form->assumption),
                style);
  const bool held = scaling.optimum_edge != plan::Edge::none;
  write_entry(out, "optimum",
              fmt::format("{} (real numbers, numerically{}{})", continuous_text(scaling.optimum),
                          held ? "; at the edge of " : "", to_string(scaling.optimum_edge)),
              style);
  write_entry(out, "slopes", fmt::format("head_dim on log n {}", slope_text(scaling.head_dim_on_log_n, "n")),
              style);
  write_entry(out, "",
              fmt::format("log n_heads on log D {}", slope_text(scaling.log_n_heads_on_log_budget, "D")),
              style);
}

void write_curve(std::ostream& out, const plan::Allocation& found, const TerminalStyle& style) {
  const bool has_bandwidth = found.curve[found.best].error.bandwidth.has_value();
  std::vector<TextColumn> columns = {{"head_dim", true, 0}, {"n_heads"}, {"mse"}, {"bias^2"},
                                     {"variance"},          {"rho"}};
  if (has_bandwidth) columns.push_back({"bandwidth"});
  columns.push_back({"", false});
  TextTable table(std::move(columns));
  const std::size_t size = found.curve.size(), shown = std::min(size, kRowsShown);
  const std::size_t first = std::min(found.best - std::min(found.best, shown / 2), size - shown);
  for (std::size_t i = first; i < first + shown; ++i) {
    const plan::PlanPoint& point = found.curve[i];
    const plan::PairError& error = point.error;
    std::vector<Cell> row = {
        {std::to_string(point.pair.head_dim)}, {std::to_string(point.pair.n_heads)}, {short_text(error.mse)},
        {short_text(error.squared_bias)},      {short_text(error.variance)},         {rho_text(point)}};
    if (has_bandwidth) row.push_back({short_text(error.bandwidth)});
    const bool tied = std::find(found.near_ties.begin(), found.near_ties.end(), i) != found.near_ties.end();
    std::string mark = i == found.best ? "best" : tied ? "near-tie" : "";
    if (error.beyond_range) append(mark, ", ", error.capped ? "capped" : "beyond the range");
    row.push_back({mark, i == found.best ? Tone::good : error.beyond_range ? Tone::warning : Tone::plain});
    table.add_row(std::move(row));
  }
  out << '\n';
  table.write(out, style.colour, style.width);
  if (shown < size)
    out << fmt::format("... {}; --json writes them all\n",
                       counted(static_cast<std::int64_t>(size - shown), "more pair"));
}

}  // namespace

void write_plan_terminal(std::ostream& out, const PlanReport& report, const TerminalStyle& style) {
  write_question(out, report, style);
  write_answer(out, report.allocation, style);
  write_scaling(out, report.scaling, style);
  write_curve(out, report.allocation, style);
}

}  // namespace headspan::report
