#pragma once
// The JSON files of layouts/, compiled in.

#include <vector>

namespace headspan::checkpoint {

struct EmbeddedLayout {
  const char* file;
  const char* json;
};

/// In the order of the file names.
const std::vector<EmbeddedLayout>& embedded_layouts();

}  // namespace headspan::checkpoint
