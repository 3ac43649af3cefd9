#pragma once
// Counter-based random numbers: the same stream on any thread and any machine.

#include <array>
#include <cstdint>

#include "headspan/numeric/matrix.h"

namespace headspan {

/// A stream of random numbers named by (seed, stream): Philox 4x64-10 [salmon2011]. Usable as a standard
/// uniform random bit generator.
class RandomStream {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  RandomStream(std::uint64_t seed, std::uint64_t stream);
  /// The next 64 random bits.
  result_type operator()();
  /// Uniform on the open interval (0, 1).
  double uniform();
  /// Standard normal.
  double normal();
  /// Chi-square with `dof` degrees of freedom, any real dof > 0; ArgumentError otherwise.
  double chi_square(double dof);
  /// [rows, cols] independent standard normals.
  Matrix normal_matrix(Index rows, Index cols);

 private:
  std::uint64_t seed_, stream_, counter_ = 0;
  std::array<std::uint64_t, 4> block_{};
  int left_ = 0;
};

}  // namespace headspan
