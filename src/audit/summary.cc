#include "audit/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace headspan::audit {
namespace {

const SourceFacts* find_source(const LayerFacts& layer, Source source) {
  for (const SourceFacts& facts : layer.sources)
    if (facts.source == source) return &facts;
  return nullptr;
}

ThresholdFacts judge_min_hdi(const AuditReport& report, double limit) {
  ThresholdFacts facts{"min_hdi", limit, report.options.source, std::nullopt, {}, false};
  for (const LayerFacts& layer : report.layers) {
    const SourceFacts* source = find_source(layer, facts.source);
    if (!source || !source->diversity.hdi) continue;
    facts.value = std::min(facts.value.value_or(*source->diversity.hdi), *source->diversity.hdi);
    if (*source->diversity.hdi < limit) facts.offenders.push_back(layer_label(report, layer));
  }
  facts.crossed = !facts.offenders.empty();
  return facts;
}

ThresholdFacts judge_max_redundant(const AuditReport& report, std::int64_t limit) {
  ThresholdFacts facts{
      "max_redundant", static_cast<double>(limit), report.options.source, std::nullopt, {}, false};
  double count = 0.0;
  for (const LayerFacts& layer : report.layers) {
    const SourceFacts* source = find_source(layer, facts.source);
    if (!source || source->n_significant_aligned == 0) continue;
    count += source->n_significant_aligned;
    facts.offenders.push_back(layer_label(report, layer));
  }
  facts.value = count;
  facts.crossed = count > facts.limit;
  if (!facts.crossed) facts.offenders.clear();
  return facts;
}

/// Mean of a number over the layers that have it.
class Mean {
 public:
  void add(const std::optional<double>& x) {
    if (!x) return;
    sum_ += *x;
    ++count_;
  }
  void store(std::map<std::string, double>& out, Source source) const {
    if (count_ > 0) out[to_string(source)] = sum_ / count_;
  }

 private:
  double sum_ = 0.0;
  int count_ = 0;
};

void add_means(const AuditReport& report, SummaryFacts& summary) {
  for (const Source source : all_sources()) {
    Mean hdi, baseline, n_eff;
    for (const LayerFacts& layer : report.layers) {
      const SourceFacts* facts = find_source(layer, source);
      if (!facts) continue;
      hdi.add(facts->diversity.hdi);
      baseline.add(facts->diversity.baseline);
      n_eff.add(facts->diversity.n_eff_2);
    }
    hdi.store(summary.mean_hdi, source);
    baseline.store(summary.mean_baseline, source);
    n_eff.store(summary.mean_n_eff_2, source);
  }
}

struct Comparison {
  int more = 0, less = 0, like = 0;
};

/// Layers whose HDI lies more than two standard deviations from the random baseline, either way.
Comparison against_random(const AuditReport& report, Source source) {
  Comparison count;
  for (const LayerFacts& layer : report.layers) {
    const SourceFacts* facts = find_source(layer, source);
    if (!facts || !facts->diversity.z) continue;
    const double z = *facts->diversity.z;
    ++(z > 2.0 ? count.more : z < -2.0 ? count.less : count.like);
  }
  return count;
}

std::string diversity_sentence(const AuditReport& report, const SummaryFacts& summary) {
  const Source source = report.options.source;
  const std::string name = to_string(source);
  if (!summary.mean_hdi.contains(name) || !summary.mean_baseline.contains(name))
    return fmt::format("No layer has two heads with a value of {}, so their diversity is not defined.", name);
  const Comparison count = against_random(report, source);
  const int total = count.more + count.less + count.like;
  const char* verdict = count.less > count.more && count.less > count.like ? "more alike than random heads"
                        : count.more > count.less && count.more > count.like
                            ? "more diverse than random heads"
                            : "no different from random heads overall";
  return fmt::format(
      "By {} the heads are {} (mean HDI {:.3f}, random {:.3f}; layers of {} below random: {}, above: {}, "
      "within two standard deviations: {}).",
      name, verdict, summary.mean_hdi.at(name), summary.mean_baseline.at(name), total, count.less, count.more,
      count.like);
}

std::string redundancy_sentence(const AuditReport& report, const SummaryFacts& summary) {
  const std::string name = to_string(report.options.source);
  const auto found = summary.mean_n_eff_2.find(name);
  if (found == summary.mean_n_eff_2.end()) return "There is no pair of heads to call redundant.";
  double heads = 0.0;
  int layers = 0;
  for (const LayerFacts& layer : report.layers)
    if (const SourceFacts* facts = find_source(layer, report.options.source);
        facts && facts->diversity.n_eff_2) {
      heads += facts->n_heads - static_cast<int>(facts->heads_left_out.size());
      ++layers;
    }
  std::string text = fmt::format(
      "A layer's {:.1f} heads count as {:.1f} effective ones on average; pairs that overlap more "
      "than chance allows: {}",
      heads / layers, found->second, summary.n_pairs_aligned);
  const auto worst = most_redundant(report, report.options.source, 1);
  if (summary.n_pairs_aligned > 0 && !worst.empty())
    text += fmt::format(", the closest being heads {} and {} of layer {} (overlap {:.3f})", worst[0].pair->a,
                        worst[0].pair->b, layer_label(report, *worst[0].layer), *worst[0].pair->overlap);
  return text + ".";
}

}  // namespace

std::vector<ThresholdFacts> judge_thresholds(const AuditReport& report) {
  std::vector<ThresholdFacts> thresholds;
  if (report.options.min_hdi) thresholds.push_back(judge_min_hdi(report, *report.options.min_hdi));
  if (report.options.max_redundant)
    thresholds.push_back(judge_max_redundant(report, *report.options.max_redundant));
  return thresholds;
}

SummaryFacts summarise(const AuditReport& report) {
  SummaryFacts summary;
  summary.n_layers = static_cast<int>(report.layers.size());
  for (const LayerFacts& layer : report.layers) {
    if (layer.status == Status::ok) ++summary.n_layers_ok;
    summary.n_heads += static_cast<int>(layer.heads.size());
    const SourceFacts* source = find_source(layer, report.options.source);
    if (!source) continue;
    summary.n_pairs_aligned += source->n_significant_aligned;
    summary.n_pairs_repelled += source->n_significant_repelled;
  }
  summary.complete = summary.n_layers_ok == summary.n_layers;
  add_means(report, summary);
  summary.reading = {diversity_sentence(report, summary), redundancy_sentence(report, summary)};
  return summary;
}

}  // namespace headspan::audit
