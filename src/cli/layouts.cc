#include "cli/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

namespace headspan::cli {
namespace {

std::string codes(const checkpoint::Layout& layout) {
  std::string out;
  std::set<std::string> seen;
  for (const checkpoint::AttentionNames& names : layout.attentions) {
    const std::string code = std::string(to_string(names.code)) + (names.in_out ? "+T" : "");
    if (seen.insert(code).second) out += (out.empty() ? "" : " ") + code;
  }
  return out;
}

std::string model_types(const checkpoint::Layout& layout) {
  std::string out;
  for (const std::string& type : layout.model_types) out += (out.empty() ? "" : " ") + type;
  for (const auto& [key, value] : layout.when)
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", key, value);
  return out.empty() ? "-" : out;
}

}  // namespace

void write_layout_table(std::ostream& out, const std::vector<checkpoint::Layout>& layouts) {
  std::size_t name_width = 6;
  std::size_t code_width = 5;
  for (const checkpoint::Layout& layout : layouts) {
    name_width = std::max(name_width, layout.name.size());
    code_width = std::max(code_width, codes(layout).size());
  }
  const auto line = [&](const std::string& name, const std::string& code, const std::string& text) {
    out << fmt::format("{:<{}}  {:<{}}  {}\n", name, name_width, code, code_width, text);
  };
  line("layout", "order", "families, and the model_type values of config.json that choose it");
  for (const checkpoint::Layout& layout : layouts) {
    line(layout.name, codes(layout), layout.title);
    line("", "", model_types(layout));
  }
  out << "\nOrder of the heads: SEP separate matrices; S3 all queries, all keys, all values; I3 query, key, "
         "value of\n"
         "each head; IG queries, key, value of each group; QVK4 four slabs of queries, values, keys; +T "
         "stored\n"
         "[in, out]. --list-layouts --json FILE writes the rows as --layout-file reads them.\n";
}

}  // namespace headspan::cli
