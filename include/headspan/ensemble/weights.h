#pragma once
// Weights of an ensemble's members of least risk: closed form, on the simplex, and monotone on the simplex.

#include <optional>

#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// How far a weighting is determined by the matrix it minimises.
enum class WeightsStatus {
  ok,        ///< the only one of least risk
  singular,  ///< many have the same risk: some members, or mixtures of members, make the same errors, or
             ///< there are more members than points. Given is the one closest to uniform
};

/// Lower-case word for a status, as printed.
const char* to_string(WeightsStatus status);

/// Weights a [H] of sum one, and how good they are.
struct Weighting {
  Vector weights;
  double risk = 0.0;  ///< a^T M a
  WeightsStatus status = WeightsStatus::ok;
  /// Largest violation of the conditions of optimality (equal slope M a on members of positive weight, no
  /// smaller slope elsewhere), relative to the largest entry of |M|. Empty where nothing was minimised.
  std::optional<double> residual;
};

/// a^T M a for the error second-moment matrix M_hl = E (f_h - m)(f_l - m) [H, H]. A constant added to every
/// entry of M, such as the noise of the targets, is added to the risk of every weighting of sum one.
/// Throws ArgumentError on shapes that disagree.
double risk(MatrixView m, VectorView weights);

/// M_hl = mean_i (f_h,i - y_i)(f_l,i - y_i) of `predictions` [H, n] and `y` [n]. Symmetric to the bit. Throws
/// ArgumentError on shapes that disagree, no member or point, or what is not finite. Cost O(n H^2).
Matrix error_second_moments(MatrixView predictions, VectorView y);

/// The weights of least a^T M a with sum one: M^-1 1 / (1^T M^-1 1), of any sign [bates1969]. Found from the
/// differences of the members to the one of least error, so a common part of M costs no digits. Where the
/// members' differences are linearly dependent to 1e-12 of their size the minimum is not unique: status
/// singular. Throws ArgumentError unless M is symmetric to 1e-9 of its largest entry and finite, and where it
/// curves downwards between weightings of sum one (an estimate less its noise may: shrink it, or ask for
/// non-negative weights of the raw moments). Cost O(H^3).
Weighting optimal_weights(MatrixView m);

/// The same with a >= 0 and, where given, |a|^2 <= greatest_norm2, by an active set: exact but for rounding,
/// and the same bits anywhere. 1 / |a|^2 is an effective number of members, so greatest_norm2 = 1/G asks for
/// at least G. Throws as optimal_weights, and where greatest_norm2 is below 1/H, which no weighting reaches.
/// Cost about O(H p^3) for p members of positive weight, some fifty times that where the norm is bounded and
/// the bound holds.
Weighting simplex_weights(MatrixView m, std::optional<double> greatest_norm2 = std::nullopt);

/// The same with a_1 >= a_2 >= ... >= a_H >= 0, for members in order of trust. Such weightings are the
/// mixtures of "uniform on the first j", so this is the simplex of those. Throws and costs as
/// simplex_weights.
Weighting monotone_weights(MatrixView m, std::optional<double> greatest_norm2 = std::nullopt);

}  // namespace headspan::ensemble
