#pragma once
// The known word that an unknown one was probably meant to be.

#include <string>
#include <vector>

namespace headspan {

/// The candidate with the fewest insertions, deletions and substitutions from `word`, letters of either case
/// being the same; of several the first. Empty where even that changes more than a third of the word. Cost:
/// the product of the lengths, per candidate.
std::string nearest_word(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace headspan
