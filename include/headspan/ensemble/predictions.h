#pragma once
// Everything the predictions of an ensemble say of it: error terms with what is an identity and what an
// estimate, correlation of the members, and what their weights should be.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headspan/ensemble/decomposition.h"
#include "headspan/ensemble/families.h"
#include "headspan/ensemble/replicates.h"
#include "headspan/ensemble/weights.h"
#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

struct PredictionOptions {
  int n_bootstrap = 400;  ///< resamples of the points for standard errors; 0: none
  int n_folds = 10;       ///< of the cross-validated risks, at most one per point or training set
  std::uint64_t seed = 0;
  std::optional<double> greatest_norm2{};  ///< bound on |a|^2 of the simplex and monotone weights
};

/// One way to weight the members.
struct FittedWeights {
  std::string name;  ///< "uniform", "optimal", "shrunk", "simplex", "monotone", or a family's
  std::vector<std::pair<std::string, double>> parameters;
  bool at_edge = false;  ///< of a law: as FamilyFit says
  Weighting weighting;   ///< fitted to all points and training sets; the risk is in sample
  std::optional<double>
      risk_cv;                  ///< mean squared error where it was left out of the fit; empty for one point
  std::optional<Part> gain_cv;  ///< risk_cv of uniform less this one, with its standard error
};

/// A member that looks like a column of something else.
struct Doubt {
  Index member = 0;
  /// "error": its squared error exceeds a hundred times that of the middle member and of the mean of y.
  /// "labels": whole numbers, all different, where as many from their range would repeat, as row numbers do
  /// not. "groups": whole numbers, three or more, each as often as the others, as numbers of training sets or
  /// of points are.
  std::string reason;
};

/// Terms are means over the points and, where there are several, over the replicates with divisor R; F is the
/// plain mean of the members. Exact: a number of the file that an identity links to others. Estimated: the
/// expectation over training sets that it stands for, known from R of them. Standard errors are those over
/// the points, by bootstrap. Empty: not identified by one training set, or undefined for one member.
struct PredictionFacts {
  Index n_points = 0, n_members = 0, n_replicates = 0;
  Part mse;                        ///< (F - y)^2
  Part mean_member_mse;            ///< mean_h (f_h - y)^2 = mse + ambiguity
  Part ambiguity;                  ///< mean_h (f_h - F)^2
  std::optional<Part> bias2;       ///< (E F - y)^2
  std::optional<Part> variance;    ///< mean_h Var f_h
  std::optional<Part> covariance;  ///< mean_{h != l} Cov(f_h, f_l)
  std::optional<Part> disparity;   ///< mean_h (E f_h - E F)^2
  std::optional<Part> diversity;   ///< E mean_h (f_h - F)^2
  /// mse less what it should be: mean_member_mse - ambiguity for one training set,
  /// bias2 + variance/H + (1 - 1/H) covariance for several.
  double closure = 0.0;
  /// Largest residual of mean bias^2 = bias2 + disparity, variance = Var F + diversity - disparity and
  /// diversity = disparity + (1 - 1/H)(variance - covariance).
  std::optional<double> linking_closure;
  /// The same terms without the bias that R replicates leave (bias2 is too large by Var F / R), with
  /// jackknife standard errors over the replicates. Three replicates or more.
  std::optional<Decomposition> unbiased;

  Matrix error_second_moments;        ///< [H, H] mean (f_h - y)(f_l - y)
  std::string correlation_of;         ///< "errors", or "replicates": covariance over the training sets
  std::optional<Matrix> correlation;  ///< [H, H]; empty where a member has no error, or never varies
  std::optional<Part> hdi, n_eff_2;   ///< of that correlation
  std::vector<Index>
      uncorrelated;  ///< members without error, or that never vary: why there is no correlation
  std::vector<Doubt> doubtful;
  /// Of several training sets both hold for others such as these, at the same points: whole sets are left out
  /// of the fits, and chance is what differs between them. Of one set they hold for other points.
  Exchangeability alike;  ///< whether equal weights cannot be beaten
  std::vector<FittedWeights> weights;

  Index n_groups =
      0;  ///< random groups of points that were resampled: n_points, or fewer where those are many
  Index n_folds = 0;    ///< of points, or of training sets where there are several; 0: no cross-validation
  int n_bootstrap = 0;  ///< 0: no standard errors
};

/// All of it from predictions of H members at the same points after each of R training sets; R = 1 leaves
/// bias and variance unidentified. The points are taken as independent. Members are in the order of the
/// structured laws, most trusted first. Deterministic for a seed, whatever the number of threads. Throws
/// ArgumentError on shapes that disagree, what is not finite or too large to be squared, options out of
/// range, and greatest_norm2 below 1/H. Cost O(R n H^2), and about n_bootstrap * 4e6 for the standard errors.
PredictionFacts decompose_predictions(const Replicates& replicates, const PredictionOptions& options = {});

}  // namespace headspan::ensemble
