#pragma once
// The parts that the table and the explanation of a head have in common.

#include <iosfwd>

#include "headspan/report/report.h"
#include "report/text_table.h"

namespace headspan::report {

/// What the model is and where each number about it comes from.
void write_header(std::ostream& out, const audit::AuditReport& report, const TerminalStyle& style);

/// "name    text", the text wrapped and lined up under itself.
void write_entry(std::ostream& out, const std::string& name, const std::string& text,
                 const TerminalStyle& style);

Tone status_tone(audit::Status status);
Tone direction_tone(audit::Direction direction);

}  // namespace headspan::report
