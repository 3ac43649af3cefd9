#include "report/lookup.h"

namespace headspan::report {

using audit::Source;

const audit::SourceFacts* find_source(const audit::LayerFacts& layer, Source source) {
  for (const audit::SourceFacts& facts : layer.sources)
    if (facts.source == source) return &facts;
  return nullptr;
}

std::optional<double> diversity_value(const audit::LayerFacts& layer, Source source,
                                      std::optional<double> ensemble::Diversity::*member) {
  const audit::SourceFacts* facts = find_source(layer, source);
  return facts == nullptr ? std::nullopt : facts->diversity.*member;
}

bool is_of_key_heads(Source source) {
  switch (source) {
    case Source::key_subspace:
    case Source::value_subspace:
    case Source::key_energy:
    case Source::value_energy:
    case Source::kernel:
      return true;
    case Source::query_subspace:
    case Source::output_subspace:
    case Source::query_energy:
    case Source::output_energy:
    case Source::score:
    case Source::head:
      return false;
  }
  return false;
}

}  // namespace headspan::report
