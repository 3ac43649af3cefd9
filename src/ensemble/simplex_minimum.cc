#include "ensemble/simplex_minimum.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ensemble/face_minimum.h"

namespace headspan::ensemble {
namespace {

// A member enters where its slope is smaller by more than rounding of M a.
constexpr double kSlopeTolerance = 1e-13;

/// A point of the simplex that is the minimum over its own support, made better one member at a time.
class ActiveSet {
 public:
  explicit ActiveSet(MatrixView m) : m_(m), scale_(m.cwiseAbs().maxCoeff()), at_(Vector::Zero(m.rows())) {
    Index best = 0;
    m.diagonal().minCoeff(&best);
    at_[best] = 1.0;
    face_ = {best};
  }

  Vector minimum() {
    std::vector<bool> tried(static_cast<std::size_t>(m_.rows()), false);
    for (Index entering = steepest(tried); entering >= 0; entering = steepest(tried)) {
      if (try_with(entering))
        std::fill(tried.begin(), tried.end(), false);
      else
        tried[static_cast<std::size_t>(entering)] = true;
    }
    return at_;
  }

 private:
  /// The member outside the face whose weight should rise, -1 where none should.
  Index steepest(const std::vector<bool>& tried) const {
    const Vector slope = m_ * at_;
    const double level = at_.dot(slope);
    double most = kSlopeTolerance * scale_;
    Index found = -1;
    for (Index h = 0; h < at_.size(); ++h) {
      if (at_[h] > 0.0 || tried[static_cast<std::size_t>(h)] || level - slope[h] <= most) continue;
      most = level - slope[h];
      found = h;
    }
    return found;
  }

  /// Minimises over the face and `entering`, leaving the face's members one by one where their weight would
  /// turn negative. False, and nothing changed, where the risk does not fall: rounding decides then, not
  /// slopes.
  bool try_with(Index entering) {
    std::vector<Index> face = face_;
    face.push_back(entering);
    Vector at = at_;
    while (!step_towards(face_minimum(m_, face).weights, face, at)) continue;
    if (!(at.dot(m_ * at) < at_.dot(m_ * at_))) return false;
    at_ = at / at.sum();
    face_ = std::move(face);
    return true;
  }

  /// Moves from `at` to `target` on the face as far as no weight turns negative; true where all the way.
  static bool step_towards(const Vector& target, std::vector<Index>& face, Vector& at) {
    double step = 1.0;
    Index leaving = -1;
    for (std::size_t i = 0; i < face.size(); ++i) {
      const double from = at[face[i]], to = target[static_cast<Index>(i)];
      if (to > 0.0 || from - to <= 0.0 || from / (from - to) >= step) continue;
      step = from / (from - to);
      leaving = static_cast<Index>(i);
    }
    for (std::size_t i = 0; i < face.size(); ++i)
      at[face[i]] += step * (target[static_cast<Index>(i)] - at[face[i]]);
    if (leaving >= 0) at[face[static_cast<std::size_t>(leaving)]] = 0.0;
    std::erase_if(face, [&](Index h) { return at[h] <= 0.0; });
    for (Index h = 0; h < at.size(); ++h) at[h] = std::max(at[h], 0.0);
    return leaving < 0;
  }

  MatrixView m_;
  double scale_;
  Vector at_;
  std::vector<Index> face_;
};

/// Members that could take weight without loss.
std::vector<Index> indifferent(MatrixView m, const Vector& a) {
  const Vector slope = m * a;
  const double level = a.dot(slope), scale = m.cwiseAbs().maxCoeff();
  std::vector<Index> members;
  for (Index h = 0; h < a.size(); ++h)
    if (a[h] > 0.0 || slope[h] - level <= kSlopeTolerance * scale) members.push_back(h);
  return members;
}

}  // namespace

SimplexMinimum minimize_on_simplex(MatrixView m) {
  SimplexMinimum out{ActiveSet(m).minimum()};
  out.singular = face_minimum(m, indifferent(m, out.at)).singular;
  return out;
}

double simplex_residual(MatrixView m, const Vector& a) {
  const Vector slope = m * a;
  const double level = a.dot(slope), scale = m.cwiseAbs().maxCoeff();
  double worst = 0.0;
  for (Index h = 0; h < a.size(); ++h)
    worst = std::max(worst, a[h] > 0.0 ? std::abs(slope[h] - level) : level - slope[h]);
  return scale > 0.0 ? worst / scale : 0.0;
}

}  // namespace headspan::ensemble
