#pragma once
// The layouts that headspan knows, for people and for --layout-file.

#include <iosfwd>
#include <vector>

#include "headspan/checkpoint/layout.h"

namespace headspan::cli {

/// A line or two per layout: name, order of the heads, families, model types.
void write_layout_table(std::ostream& out, const std::vector<checkpoint::Layout>& layouts);

}  // namespace headspan::cli
