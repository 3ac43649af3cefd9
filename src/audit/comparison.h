#pragma once
// From the matrices of the sources to facts: diversity against its baseline, pairs against theirs.

#include <map>
#include <vector>

#include "audit/sources.h"
#include "headspan/audit/facts.h"

namespace headspan::audit {

/// Angles taken in the all-pairs stage; entries may be set from several threads once prepared.
class AngleTable {
 public:
  void prepare(Source source, Index n_heads);
  void set(Source source, Index a, Index b, const Vector& angles);
  /// Empty where none were taken.
  std::optional<std::vector<double>> get(Source source, Index a, Index b) const;

 private:
  struct Table {
    Index n = 0;
    std::vector<std::vector<double>> angles;
  };
  std::map<Source, Table> tables_;
};

/// Appends the source's facts and its pairs to the layer.
void add_source(SourceMatrix source, const AuditOptions& options, const AngleTable& angles,
                LayerFacts& facts);

/// Pairs of a subspace source whose angles are shown: significant ones and the n most redundant.
std::vector<PairFacts*> pairs_to_show(LayerFacts& facts, Source source, std::size_t n);

/// More redundant first: by z, then overlap, then heads. Pairs without an overlap come last.
bool more_redundant(const PairFacts& left, const PairFacts& right);

}  // namespace headspan::audit
