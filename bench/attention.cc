// Times attention alone, with n_eff, and with the covariance of its heads, turn by turn, for
// bench/compare.py.
//   bench_attention HEADS POSITIONS HEAD_DIM ROUNDS THREADS
// Prints one JSON object: seconds of each form, a list in the order of the rounds, and the peak of the
// memory.

#include "headspan/nw/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "headspan/numeric/aligned.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/nw/covariance.h"

namespace {

using headspan::Index;
namespace nw = headspan::nw;

template <class Body>
double seconds(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Most memory that this program has had; getrusage would count its parent's as well.
long peak_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  long value = 0;
  while (status >> word)
    if (word == "VmHWM:") status >> value;
  return value;
}

/// One batch entry, rows of `width` after one another.
std::array<Index, 4> strides(Index positions, Index width) { return {0, positions * width, width, 1}; }

struct Case {
  Index heads, positions, width;
  headspan::AlignedArray<float> data[3], output;
  headspan::AlignedArray<double> n_eff, covariance;

  Case(Index h, Index n, Index d) : heads(h), positions(n), width(d), output(h * n * d), n_eff(h * n) {
    covariance.resize(n * h * h);
    headspan::RandomStream random(1, 1);
    for (auto& one : data) {
      one.resize(h * n * d);
      for (Index i = 0; i < one.size(); ++i) one[i] = static_cast<float>(random.normal());
    }
  }
  nw::TensorView<float> input(int which) const {
    return {data[which].data(), {1, heads, positions, width}, strides(positions, width)};
  }
  nw::AttentionInput<float> inputs() const { return {input(0), input(1), input(2), {}, {}}; }
  nw::AttentionOutput<float> outputs(bool with_n_eff) {
    nw::AttentionOutput<float> out;
    out.output = {output.data(), {1, heads, positions, width}, strides(positions, width)};
    if (with_n_eff) out.n_eff = {n_eff.data(), {1, heads, positions, 1}, strides(positions, 1)};
    return out;
  }
};

void run(const std::string& form, Case& c) {
  if (form == "output") return nw::attention<float>(c.inputs(), {}, c.outputs(false));
  if (form == "n_eff") return nw::attention<float>(c.inputs(), {}, c.outputs(true));
  nw::CovarianceOptions options;
  options.average = form == "covariance_averaged";
  nw::attention_covariance<float>(c.inputs(), options, c.outputs(false), c.covariance.data());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: bench_attention HEADS POSITIONS HEAD_DIM ROUNDS THREADS\n");
    return 2;
  }
  Case c(std::stol(argv[1]), std::stol(argv[2]), std::stol(argv[3]));
  const headspan::ThreadLimit limit(std::stoi(argv[5]));
  const std::vector<std::string> forms = {"output", "n_eff", "covariance", "covariance_averaged"};
  const long before = peak_kib();
  std::map<std::string, std::vector<double>> taken;
  for (int round = 0; round <= std::stoi(argv[4]); ++round)
    for (const std::string& form : forms) {
      const double time = seconds([&] { run(form, c); });
      // The first round touches the memory.
      if (round > 0) taken[form].push_back(time);
    }
  std::vector<std::string> members;
  for (const auto& [form, times] : taken) members.push_back(fmt::format("\"{}\": {}", form, times));
  fmt::print("{{{}, \"working_kib\": {}}}\n", fmt::join(members, ", "), peak_kib() - before);
  return 0;
}
