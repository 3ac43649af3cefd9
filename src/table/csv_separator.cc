#include "table/csv_separator.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include "table/csv_cell.h"
#include "table/csv_records.h"

namespace headspan::table {
namespace {

// Where two separators cut a text equally well the earlier one is meant: commas stand inside the fields of
// texts separated by anything else (decimal commas above all), hardly ever the other way round.
constexpr std::array kSeparators = {'\t', ';', '|', ','};
constexpr std::size_t kSampleBytes = std::size_t{1} << 17;
constexpr std::size_t kSampleRecords = 1000;

// How one separator cuts the sample.
struct Cut {
  std::size_t n_records = 0;
  std::size_t fields = 0;  // commonest number of fields, the larger one where two are equally common
  std::size_t n_agreeing = 0;
  bool is_sound = true;  // no text after a closing quote, as under a wrong separator
};

Cut cut(std::string_view sample, bool is_whole, char separator) {
  RecordReader reader(sample, separator);
  std::map<std::size_t, std::size_t> records_of_width;
  Cut result;
  std::size_t last = 0;
  while (result.n_records < kSampleRecords && reader.next()) {
    last = reader.fields().size();
    ++records_of_width[last];
    ++result.n_records;
  }
  const bool ended = result.n_records < kSampleRecords && !reader.defect();
  // The last record of a part of a text may be a part of a record.
  if (!is_whole && ended && result.n_records > 1) {
    --records_of_width[last];
    --result.n_records;
  }
  result.is_sound = !reader.defect() || (reader.defect()->is_open_quote && !is_whole);
  for (const auto& [width, count] : records_of_width)
    if (count >= result.n_agreeing) {
      result.fields = width;
      result.n_agreeing = count;
    }
  return result;
}

// A column of numbers with decimal comma under a name: commas cut it too, but for its first record.
bool is_one_decimal_column(std::string_view sample) {
  RecordReader reader(sample, '\0');
  const MissingSpellings missing({""});
  bool has_comma = false;
  bool is_name = true;
  for (std::size_t i = 0; i < kSampleRecords && reader.next(); ++i) {
    const std::string_view text = reader.fields().front().text;
    const CellKind kind = read_cell(text, missing).kind;
    if (is_name && (kind != CellKind::text || text.find(',') != std::string_view::npos)) return false;
    const bool is_comma = kind == CellKind::comma || kind == CellKind::comma_thousands;
    if (!is_name && !is_comma && kind != CellKind::plain && kind != CellKind::missing) return false;
    has_comma = has_comma || is_comma;
    is_name = false;
  }
  return has_comma;
}

}  // namespace

char find_separator(std::string_view text) {
  const std::string_view sample = text.substr(0, kSampleBytes);
  const bool is_whole = sample.size() == text.size();
  char best = '\0';
  double best_share = 0.0;
  for (const char separator : kSeparators) {
    const Cut result = cut(sample, is_whole, separator);
    if (result.fields < 2) continue;
    const bool is_perfect = result.is_sound && result.n_agreeing == result.n_records;
    if (is_perfect) return separator;
    const double share = static_cast<double>(result.n_agreeing) / static_cast<double>(result.n_records);
    if (share <= best_share) continue;
    best = separator;
    best_share = share;
  }
  if (best == ',' && is_one_decimal_column(sample)) return '\0';
  return best;
}

}  // namespace headspan::table
