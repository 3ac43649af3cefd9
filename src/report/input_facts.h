#pragma once
// A table file as it was understood, in JSON and in words.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include "headspan/report/nw_report.h"

namespace headspan::report {

nlohmann::ordered_json input_object(const InputFacts& facts);

/// A few lines; `what` is the word that stands before the path.
void write_input(std::ostream& out, const std::string& what, const InputFacts& facts,
                 const TerminalStyle& style);

}  // namespace headspan::report
