#pragma once
// What was decided about a table before a regression saw it, for people to check.

#include <cstdint>
#include <string>
#include <vector>

namespace headspan::estimator {

/// What a column of a table becomes.
enum class ColumnUse {
  number,    ///< one input
  category,  ///< one input per level
  left_out,  ///< none
};

/// Why a column is left out, or would be if it had not been asked for.
enum class Exclusion {
  none,
  asked,      ///< the caller wants it left out
  empty,      ///< no training row has a value
  constant,   ///< the same value in every training row
  duplicate,  ///< says what an earlier column says: an affine copy, or the same categories by other names
  leak,       ///< an affine copy of the target
  dates,      ///< cells that read as dates or times of day
  free_form,  ///< text of too many levels for the rows there are
};

/// Lower-case words, as printed and in JSON: "left out", "free form".
const char* to_string(ColumnUse use);
const char* to_string(Exclusion exclusion);

/// What became of one column of the training table.
struct ColumnDecision {
  std::string name;
  ColumnUse use = ColumnUse::left_out;
  Exclusion exclusion = Exclusion::none;  ///< with another use than left_out: kept because asked for
  std::int64_t n_missing = 0;             ///< training rows
  std::int64_t n_levels = 0;              ///< of a text column, in the training rows
  std::string note;                       ///< a sentence for people; empty where there is nothing to say
};

/// What had to be made up to encode the rows of a table.
struct ColumnRepair {
  std::string name;
  std::int64_t n_filled = 0;  ///< missing numbers that got the median of the training rows
  std::int64_t n_unseen =
      0;  ///< rows of a level, or missing, as no training row was, or too few: no input is theirs
  std::int64_t first_unseen = 0;  ///< source line of the first of them; 0 where there is none
  std::string unseen;             ///< what it says; empty where it is missing
};

struct EncodingFacts {
  std::vector<ColumnDecision> columns;  ///< of the training table, in its order
  std::vector<std::string> inputs;      ///< names of the inputs: "age", "age missing", "sex = male"
};

}  // namespace headspan::estimator
