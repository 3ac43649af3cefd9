// Times the all-pairs stages on stacked heads and the audit of a layer, for bench/subspaces.py.
//   bench_subspaces pairs HEADS.npy N_HEADS OUT.bin          orthonormalise, overlaps, all angles; writes
//                                                            [overlap, angles...] per pair
//   bench_subspaces layer N_HEADS HEAD_DIM WIDTH ROUNDS      one layer's audit beside its eight Gram products
//                                                            alone, taking turns, the best time of each
// Prints one JSON object.

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "headspan/audit/audit.h"
#include "headspan/numeric/decompose.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/subspace/basis.h"
#include "headspan/subspace/pair_products.h"
#include "headspan/subspace/principal_angles.h"
#include "headspan/table/npy.h"

namespace {

using headspan::Index;
using headspan::Matrix;
using headspan::MatrixView;

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Matrix frames_of(const Matrix& heads, Index n) {
  const Index k = heads.rows() / n;
  Matrix frames(heads.rows(), heads.cols());
  headspan::parallel_for(n, [&](Index h) {
    frames.middleRows(h * k, k) =
        headspan::subspace::orthonormal_basis(heads.middleRows(h * k, k), 0x1p-53).frame;
  });
  return frames;
}

void write_pairs(const std::string& path, const Matrix& overlaps,
                 const std::vector<headspan::Vector>& angles) {
  std::ofstream out(path, std::ios::binary);
  for (Index a = 0; a < overlaps.rows(); ++a)
    for (Index b = a + 1; b < overlaps.rows(); ++b) {
      const headspan::Vector& pair = angles[static_cast<std::size_t>(a * overlaps.rows() + b)];
      out.write(reinterpret_cast<const char*>(&overlaps(a, b)), sizeof(double));
      out.write(reinterpret_cast<const char*>(pair.data()),
                static_cast<std::streamsize>(pair.size() * sizeof(double)));
    }
}

int time_pairs(const std::string& path, Index n, const std::string& out) {
  const Matrix heads = headspan::table::read_npy(path);
  const Index k = heads.rows() / n;
  Clock clock;
  const Matrix frames = frames_of(heads, n);
  const double orthonormalise = clock.lap();
  const Matrix overlaps = headspan::subspace::overlap_products(frames, k, nullptr);
  const double overlap = clock.lap();
  std::vector<headspan::Vector> angles(static_cast<std::size_t>(n * n));
  const Matrix again =
      headspan::subspace::overlap_products(frames, k, [&](Index a, Index b, MatrixView cross) {
        if (a == b) return;
        angles[static_cast<std::size_t>(a * n + b)] = headspan::subspace::principal_angles(
            frames.middleRows(a * k, k), frames.middleRows(b * k, k), cross);
      });
  const double with_angles = clock.lap();
  write_pairs(out, again, angles);
  fmt::print(R"({{"orthonormalise": {}, "overlaps": {}, "overlaps_and_angles": {}}})"
             "\n",
             orthonormalise, overlap, with_angles);
  return 0;
}

/// The Gram product of stacked heads in the tiles of the library, nothing done with it.
void gram_alone(const Matrix& stacked) {
  const Index rows = headspan::subspace::kTileRows, tiles = (stacked.rows() + rows - 1) / rows;
  std::vector<std::pair<Index, Index>> pairs;
  for (Index i = 0; i < tiles; ++i)
    for (Index j = i; j < tiles; ++j) pairs.emplace_back(i, j);
  headspan::parallel_for(static_cast<Index>(pairs.size()), [&](Index p) {
    const auto [i, j] = pairs[static_cast<std::size_t>(p)];
    const Index m = std::min(rows, stacked.rows() - i * rows), n = std::min(rows, stacked.rows() - j * rows);
    Matrix gram(m, n);
    headspan::multiply_transposed(stacked.middleRows(i * rows, m), stacked.middleRows(j * rows, n), gram);
  });
}

headspan::LayerHeads random_layer(Index n, Index k, Index width) {
  headspan::LayerHeads heads;
  std::uint64_t stream = 0;
  for (headspan::HeadWeights* part : {&heads.query, &heads.key, &heads.value, &heads.output})
    *part = {headspan::RandomStream(1, stream++).normal_matrix(n * k, width), n, k, 0x1p-53};
  return heads;
}

/// The weights' products and the frames' cost the same, so each part is multiplied twice.
double time_grams(const headspan::LayerHeads& heads) {
  Clock clock;
  for (int repeat = 0; repeat < 2; ++repeat)
    for (const headspan::HeadWeights* part : {&heads.query, &heads.key, &heads.value, &heads.output})
      gram_alone(part->weight);
  return clock.lap();
}

int time_layer(Index n, Index k, Index width, int rounds) {
  const headspan::LayerHeads heads = random_layer(n, k, width);
  double grams = 1e300, audit = 1e300, hdi = 0.0;
  for (int round = 0; round < rounds; ++round) {
    grams = std::min(grams, time_grams(heads));
    headspan::LayerHeads mine = heads;
    Clock clock;
    const headspan::audit::LayerFacts facts = headspan::audit::audit_layer(std::move(mine), {});
    audit = std::min(audit, clock.lap());
    hdi = *facts.sources.front().diversity.hdi;
  }
  fmt::print(R"({{"grams": {}, "audit": {}, "hdi": {}}})"
             "\n",
             grams, audit, hdi);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 4 && arguments[0] == "pairs")
    return time_pairs(arguments[1], std::stol(arguments[2]), arguments[3]);
  if (arguments.size() == 5 && arguments[0] == "layer")
    return time_layer(std::stol(arguments[1]), std::stol(arguments[2]), std::stol(arguments[3]),
                      std::stoi(arguments[4]));
  fmt::print(
      stderr,
      "usage: bench_subspaces pairs HEADS.npy N_HEADS OUT.bin | layer N_HEADS HEAD_DIM WIDTH ROUNDS\n");
  return 2;
}
