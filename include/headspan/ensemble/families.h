#pragma once
// Laws for the weights of an ordered list of members, and when no law can beat equal weights.

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "headspan/ensemble/weights.h"
#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

/// Non-increasing weights of member h = 1 .. H, up to a factor that makes their sum one.
enum class Family {
  uniform,          ///< 1
  geometric,        ///< r^h, 0 < r <= 1
  sub_exponential,  ///< exp(-c h^alpha), c >= 0, 0 < alpha < 1
  heavy_tailed,     ///< h^-p, p >= 0
  fibonacci,        ///< F_(H-h+1): F_1 = F_2 = 1. At most 4.24 effective members however many there are
};

inline constexpr std::array kFamilies = {Family::uniform, Family::geometric, Family::sub_exponential,
                                         Family::heavy_tailed, Family::fibonacci};

/// "uniform", "geometric", "sub_exponential", "heavy_tailed", "fibonacci".
const char* to_string(Family family);

/// The names of the free parameters: {"r"}, {"c", "alpha"}, {"p"}, or none.
std::vector<std::string_view> parameter_names(Family family);

/// Weights [n] of sum one for `parameters` in the order of parameter_names. Throws ArgumentError on n < 1,
/// another number of parameters, and parameters outside their range.
Vector family_weights(Family family, Index n, VectorView parameters = Vector());

/// A law fitted to a matrix of errors.
struct FamilyFit {
  Family family = Family::uniform;
  Vector parameters;
  Weighting weighting;
  bool at_edge = false;  ///< a parameter ends where the search does: the least risk may lie beyond
};

/// The parameters of least risk a^T M a: a scan of the decay a_1/a_2 from 1 to 1e9 (for sub_exponential at
/// alpha from .05 to .95 too), refined around the best; a law that would drop all members but the first ends
/// at 1e9. Of parameters of one risk those nearest equal weights, with alpha .5 where it does not matter.
/// Throws ArgumentError unless M is square, not empty, finite and symmetric, and no M_hh + M_ll - 2 M_hl is
/// negative. Cost O(H^2) per risk, about a
/// hundred of them, two thousand for sub_exponential.
FamilyFit fit_family(MatrixView m, Family family);

/// Whether all members are alike: equal diagonal and equal off-diagonal entries of M. Then the risk of any
/// weighting of sum one is off_diagonal + (diagonal - off_diagonal) |a|^2, least for equal weights: structure
/// cannot win, and loses structure_loss.
struct Exchangeability {
  double diagonal = 0.0;      ///< mean of M_hh: B^2 + v
  double off_diagonal = 0.0;  ///< mean of M_hl, h != l: B^2 + v rho; the diagonal for one member
  double departure = 0.0;     ///< largest distance of an entry from those two
  std::optional<double> p;  ///< that members alike depart as much by chance; empty where M is taken as exact
  bool holds = false;       ///< departure is at most the tolerance, or p at least the level
};

/// Of a known M: holds where no entry is farther than `tolerance` times the largest |M_hh| from its mean.
/// Throws ArgumentError unless M is square, not empty, finite and symmetric, and no M_hh + M_ll - 2 M_hl is
/// negative.
Exchangeability exchangeability(MatrixView m, double tolerance = 1e-9);

/// Of M estimated from `errors` [H, n], f_h - m at n independent points: every entry's distance from its mean
/// is compared with its standard error over the points, and the smallest p-value (Student's t, times the
/// number of entries) with `level`. Not to hold is a finding; to hold may only mean that
/// there are few points. Products of errors have heavy tails: of normal errors alike by construction, the
/// test at 5 % rejected 4 % with 10 members and 500 points, 7 % with 5 and 30, 15 % with 20 and 40. p is
/// empty, and the tolerance of the exact test applies, for fewer than three points or one member. Throws
/// ArgumentError on no member or point, or what is not finite. Cost O(n H^2).
Exchangeability exchangeability_test(MatrixView errors, double level = 0.05);

/// The same of sums of e e^T [H, H] over independent groups of points, n_points of them each: for many
/// points, or errors that are alike within a group. Throws ArgumentError on shapes that disagree, empty
/// groups, and what is not finite. Cost O(groups x H^2).
Exchangeability exchangeability_test(const std::vector<Matrix>& sums, const std::vector<Index>& n_points,
                                     double level = 0.05);

/// What weights of sum one lose against equal ones where all members are alike: (diagonal - off_diagonal)
/// (|a|^2 - 1/H), which is v (1 - rho) (|a|^2 - 1/H) and never negative.
double structure_loss(const Exchangeability& alike, VectorView weights);

}  // namespace headspan::ensemble
