#pragma once
// Random tiles of queries x keys, and their scores and weights from the definitions, for tests.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "headspan/numeric/aligned.h"
#include "headspan/numeric/matrix.h"
#include "headspan/numeric/random.h"
#include "headspan/numeric/tiles.h"

namespace headspan {

/// A sum in long double, and the sum of the sizes of its terms: what its rounding in T is measured by.
struct ExactSum {
  long double value = 0.0L, size = 0.0L;
  void add(long double term) {
    value += term;
    size += std::abs(term);
  }
};

inline long double gap(long double have, long double want) { return std::abs(have - want); }

/// Rounding units a sum of `terms` may differ from the exact one by.
template <class T>
long double rounding(const ExactSum& sum, Index terms) {
  return sum.size * static_cast<long double>(terms + 4) * std::numeric_limits<T>::epsilon();
}

inline constexpr TileWeight kTileWeights[] = {
    TileWeight::exp2,      TileWeight::laplace, TileWeight::epanechnikov, TileWeight::biweight,
    TileWeight::triweight, TileWeight::tricube, TileWeight::uniform};

/// The weight of a score from its definition.
inline long double exact_weight(TileWeight weight, long double s) {
  const long double u2 = std::max(-s, 0.0L), inside = std::max(1.0L - u2, 0.0L);
  switch (weight) {
    case TileWeight::exp2:
      return std::exp2(s);
    case TileWeight::laplace:
      return std::exp(-std::sqrt(u2));
    case TileWeight::epanechnikov:
      return inside;
    case TileWeight::biweight:
      return inside * inside;
    case TileWeight::triweight:
      return inside * inside * inside;
    case TileWeight::tricube:
      return std::pow(std::max(1.0L - u2 * std::sqrt(u2), 0.0L), 3.0L);
    case TileWeight::uniform:
      return u2 <= 1.0L ? 1.0L : 0.0L;
  }
  return 0.0L;
}

template <class T>
AlignedArray<T> aligned(Index size, T value) {
  AlignedArray<T> array(size);
  std::fill_n(array.data(), size, value);
  return array;
}

/// m queries and n keys of d standard normal coordinates, packed; biases, scales, and room for scores.
template <class T>
struct TileFixture {
  Index m, n, d, padded;
  RowMatrix<T> queries, keys;
  AlignedArray<T> packed_queries, packed_keys, bias, scale, scores;

  TileFixture(Index n_queries, Index n_keys, Index dims)
      : m(n_queries), n(n_keys), d(dims), padded(round_up(n, 2 * kPanel<T>)) {
    RandomStream random(11, static_cast<std::uint64_t>(m * 1000 + n));
    queries = random.normal_matrix(m, d).template cast<T>();
    keys = random.normal_matrix(n, d).template cast<T>();
    packed_queries = aligned<T>(round_up(m, kGroup) * d, T(7));
    packed_keys = aligned<T>(padded * d, T(0));
    pack_queries(queries.data(), d, m, d, T(1), packed_queries.data());
    pack_keys(keys.data(), d, n, d, packed_keys.data());
    bias = aligned<T>(padded, -std::numeric_limits<T>::infinity());
    for (Index i = 0; i < n; ++i) bias[i] = static_cast<T>(random.normal());
    scale = aligned<T>(d, T(0));
    for (Index j = 0; j < d; ++j) scale[j] = static_cast<T>(0.5 + random.uniform());
    scores = aligned<T>(round_up(m, kGroup) * stride(), T(-7));
  }

  /// Wider than what is written, by one vector.
  Index stride() const { return padded + kPanel<T>; }

  ScoreTile<T> tile() {
    return {packed_queries.data(),
            packed_keys.data(),
            bias.data(),
            scale.data(),
            m,
            n,
            d,
            scores.data(),
            stride()};
  }

  ExactSum score(TileScore how, Index query, Index key) const {
    ExactSum sum;
    sum.add(bias[key]);
    for (Index j = 0; j < d; ++j) {
      const long double q = queries(query, j), k = keys(key, j);
      const long double by = how == TileScore::scaled_difference ? scale[j] : T(1);
      sum.add(how == TileScore::product ? q * k : -(k - q) * (k - q) * by * by);
    }
    return sum;
  }
};

}  // namespace headspan
