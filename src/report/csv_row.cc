#include "report/csv_row.h"

#include <ostream>

namespace headspan::report {
namespace {

// A field with a comma, a quote or a line break is quoted, its quotes doubled.
std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
  return out;
}

}  // namespace

void write_csv_row(std::ostream& out, const std::vector<std::string>& fields) {
  const char* separator = "";
  for (const std::string& field : fields) {
    out << separator << quoted(field);
    separator = ",";
  }
  out << '\n';
}

}  // namespace headspan::report
