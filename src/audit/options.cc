#include "headspan/audit/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "headspan/audit/facts.h"
#include "headspan/numeric/error.h"

namespace headspan::audit {

const char* to_string(Source source) {
  switch (source) {
    case Source::query_subspace:
      return "query_subspace";
    case Source::key_subspace:
      return "key_subspace";
    case Source::value_subspace:
      return "value_subspace";
    case Source::output_subspace:
      return "output_subspace";
    case Source::query_energy:
      return "query_energy";
    case Source::key_energy:
      return "key_energy";
    case Source::value_energy:
      return "value_energy";
    case Source::output_energy:
      return "output_energy";
    case Source::score:
      return "score";
    case Source::head:
      return "head";
    case Source::kernel:
      return "kernel";
  }
  throw ArgumentError("to_string(Source): value outside the enumeration");
}

const std::vector<Source>& all_sources() {
  static const std::vector<Source> sources = {
      Source::query_subspace, Source::key_subspace, Source::value_subspace, Source::output_subspace,
      Source::query_energy,   Source::key_energy,   Source::value_energy,   Source::output_energy,
      Source::score,          Source::head,         Source::kernel};
  return sources;
}

Source parse_source(const std::string& name) {
  std::vector<std::string> names;
  for (const Source source : all_sources()) {
    if (name == to_string(source)) return source;
    names.emplace_back(to_string(source));
  }
  throw ArgumentError(
      fmt::format("no source is called '{}'; the sources are {}", name, fmt::join(names, ", ")));
}

const char* to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::dead:
      return "dead";
    case Status::rank_deficient:
      return "rank_deficient";
    case Status::non_finite:
      return "non_finite";
    case Status::partial:
      return "partial";
    case Status::doubtful:
      return "doubtful";
    case Status::refused:
      return "refused";
  }
  throw ArgumentError("to_string(Status): value outside the enumeration");
}

const char* to_string(Direction direction) {
  switch (direction) {
    case Direction::none:
      return "none";
    case Direction::aligned:
      return "aligned";
    case Direction::repelled:
      return "repelled";
  }
  throw ArgumentError("to_string(Direction): value outside the enumeration");
}

}  // namespace headspan::audit
