#pragma once
// Derivatives of the leave-one-out error of an ensemble of Nadaraya-Watson heads: what learning projections,
// bandwidths and weights needs.

#include <memory>
#include <vector>

#include "headspan/nw/kernel.h"

namespace headspan::nw {

/// A head smooths y over the inputs it projects: f(x) = sum_i w_i(x) y_i, w_i a kernel of
/// |projection (x - x_i)| / bandwidth.
struct EnsembleHead {
  Matrix projection;  ///< [k, d]
  double bandwidth = 1.0;
};

/// One head on its own data, every row left out in turn: what learning a head needs. Row i stands for
/// frequency_i equal rows, of which one is left out:
///   f^(-i)(x_i) = (sum_{j != i} c_j k_ij v_j + (c_i - 1)+ v_i) / (sum_{j != i} c_j k_ij + (c_i - 1)+).
/// Kernels, accuracy and determinism as ensemble_loo(); twice its time where frequencies are given.
class LeftOutHead {
 public:
  /// `x` [n, d], `values` [n], `frequency` [n] positive, or empty for one each. Throws as ensemble_loo().
  LeftOutHead(MatrixView x, VectorView values, VectorView frequency, const EnsembleHead& head,
              const Kernel& kernel = {});
  ~LeftOutHead();
  LeftOutHead(const LeftOutHead&) = delete;
  LeftOutHead& operator=(const LeftOutHead&) = delete;

  const Vector& prediction() const { return prediction_; }  ///< [n] f^(-i)(x_i)
  /// [k, d] derivative with respect to the projection of a function whose derivatives by prediction() are
  /// `slope` [n].
  Matrix by_projection(VectorView slope) const;

 private:
  struct Sums;
  std::unique_ptr<const Sums> sums_;
  Matrix x_;
  Vector values_, frequency_, prediction_;
};

/// L = mean_i r_i^2, r_i = y_i - sum_h a_h f_h^(-i)(x_i), and its derivatives. f_h^(-i) leaves point i out.
struct EnsembleLoo {
  double loo = 0.0;                   ///< L
  Vector residual;                    ///< [n] r_i
  std::vector<Matrix> by_projection;  ///< per head [k, d]: dL / dprojection
  Vector by_log_bandwidth;            ///< [H] dL / d log bandwidth
  Vector by_weight;                   ///< [H] dL / da_h
};

/// `x` [n, d], `y` [n], `weights` [H] (any sign and sum). Kernels gaussian and laplace, either shape; of
/// laplace, whose weights have a corner at distance 0, coincident points count as in the corner's middle.
/// O(n^2 k) time per head, O(n (H + k)) memory: weights are computed again for the derivatives, never kept.
/// In double; same bits for any number of threads; points far from all others are handled as
/// smoother_scores() does. Throws ArgumentError for fewer than two rows, no head, sizes that disagree, NaN or
/// infinity, a bandwidth that is not positive and finite, or another kernel.
EnsembleLoo ensemble_loo(MatrixView x, VectorView y, const std::vector<EnsembleHead>& heads,
                         VectorView weights, const Kernel& kernel = {});

}  // namespace headspan::nw
