#include "headspan/checkpoint/layout.h"

#include "checkpoint/embedded_layouts.h"

namespace headspan::checkpoint {

const char* to_string(FusedCode code) {
  switch (code) {
    case FusedCode::separate:
      return "SEP";
    case FusedCode::sections:
      return "S3";
    case FusedCode::per_head:
      return "I3";
    case FusedCode::per_group:
      return "IG";
    case FusedCode::qvk_slabs:
      return "QVK4";
  }
  return "?";
}

const std::vector<Layout>& builtin_layouts() {
  static const std::vector<Layout> all = [] {
    std::vector<Layout> rows;
    for (const EmbeddedLayout& source : embedded_layouts())
      for (Layout& row : parse_layouts(source.json, source.file)) rows.push_back(std::move(row));
    return rows;
  }();
  return all;
}

}  // namespace headspan::checkpoint
