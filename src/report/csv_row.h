#pragma once
// Rows of CSV as RFC 4180 has them, LF line ends.

#include <iosfwd>
#include <string>
#include <vector>

namespace headspan::report {

void write_csv_row(std::ostream& out, const std::vector<std::string>& fields);

}  // namespace headspan::report
