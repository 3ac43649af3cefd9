#pragma once
// What a regression of several heads is made of, and how much work finding it may cost.

#include <cstdint>
#include <optional>
#include <string_view>

#include "headspan/numeric/matrix.h"

namespace headspan::estimator {

/// Where the projections of the heads come from.
enum class HeadKind {
  random,     ///< blocks of random orthogonal directions
  principal,  ///< blocks of principal components of the inputs, largest variance first
  learned,    ///< random orthogonal ones moved to where the leave-one-out error is least
  diagonal,   ///< one learned bandwidth per input, irrelevant inputs growing out of sight
};

/// How the heads' outputs become one prediction.
enum class Combiner {
  mean,           ///< every head smooths the same values and weighs 1/H
  sum,            ///< stagewise: every head smooths what the heads before it left over, times a shrinkage
  simplex,        ///< non-negative weights of sum one, least leave-one-out error
  least_squares,  ///< weights of least leave-one-out error, shrunk towards 1/H
};

/// Lower-case words, as printed and parsed.
const char* to_string(HeadKind kind);
const char* to_string(Combiner combiner);
std::optional<HeadKind> head_kind_named(std::string_view name);
std::optional<Combiner> combiner_named(std::string_view name);

/// One multi-head regression. Inputs are standardised first; head_dim is cut to the number of inputs that
/// vary.
struct Recipe {
  bool trend = false;  ///< a linear trend (ridge) first, the heads smooth its leave-one-out residuals
  HeadKind heads = HeadKind::learned;
  Combiner combiner = Combiner::sum;
  Index n_heads = 8;               ///< 0 leaves the trend, or the mean
  Index head_dim = 4;              ///< not used by diagonal heads, which see every input
  double shrinkage = 0.5;          ///< of a stage of `sum`, in (0, 1]
  double diversity_penalty = 0.0;  ///< gamma: times the mean overlap of the heads' subspaces, in units of the
                                   ///< variance that is to be explained; of heads learned together
  int iterations = 30;             ///< evaluations of the leave-one-out error per learned head
  /// Every head smooths v = y + t (y - f) in place of y, f what it makes of v itself: a share of its own bias
  /// given back [choi2000]. t >= 0, the sharpness, is learned with the projection, each head on its own.
  bool sharpen = false;
};

/// Most evaluations of the leave-one-out error per head: `iterations`, and no more than 15 for heads of which
/// only the common bandwidth is free.
int evaluations_of(const Recipe& recipe);

/// Throws ArgumentError for a recipe outside its ranges.
void check(const Recipe& recipe);

struct FitOptions {
  Recipe recipe;
  std::uint64_t seed = 0;
  int n_folds = 5;          ///< of cross-validation residuals, for intervals; 0: none
  Index learn_rows = 2000;  ///< heads are learned on a random sample of so many rows; they smooth all rows
  double relative_error = 0.0;  ///< of left-out smoothing, certified as nw::EstimateOptions; 0: exact
};

/// Throws ArgumentError for options outside their ranges.
void check(const FitOptions& options);

}  // namespace headspan::estimator
