#include "experiments/tree.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace headspan::experiments {
namespace {

struct Split {
  Index input = -1;
  double threshold = 0.0;
  double gain = 0.0;  // sum of squares taken off
};

/// Room for the work of one tree.
struct Grower {
  const SortedInputs& data;
  VectorView y;
  const TreeOptions& options;
  RandomStream& random;
  std::vector<Index> inputs;          // a permutation; its start is drawn anew for every split
  std::vector<std::int32_t> repeats;  // [n] zero between calls
  std::vector<std::int32_t> places;

  Grower(const SortedInputs& all, VectorView responses, const TreeOptions& tree, RandomStream& stream)
      : data(all),
        y(responses),
        options(tree),
        random(stream),
        inputs(static_cast<std::size_t>(all.values.rows())),
        repeats(static_cast<std::size_t>(all.values.cols())) {
    std::iota(inputs.begin(), inputs.end(), Index{0});
  }

  /// Moves a random input to place i of the permutation (Fisher-Yates, so mtry steps give mtry different
  /// ones).
  Index draw_input(Index i) {
    const Index left = static_cast<Index>(inputs.size()) - i;
    const Index other =
        i + std::min(left - 1, static_cast<Index>(random.uniform() * static_cast<double>(left)));
    std::swap(inputs[static_cast<std::size_t>(i)], inputs[static_cast<std::size_t>(other)]);
    return inputs[static_cast<std::size_t>(i)];
  }

  /// Fills `places` with those of the rows, ascending: by counting where the node holds much of the training
  /// set, by sorting where it does not.
  void sort_places(Index input, std::span<const Index> rows) {
    places.clear();
    const auto* place = data.place.row(input).data();
    constexpr std::size_t kSortedShare = 8;
    if (rows.size() * kSortedShare < repeats.size()) {
      for (const Index i : rows) places.push_back(place[i]);
      std::sort(places.begin(), places.end());
      return;
    }
    for (const Index i : rows) ++repeats[static_cast<std::size_t>(place[i])];
    for (std::size_t at = 0; at < repeats.size(); ++at)
      for (; repeats[at] > 0; --repeats[at]) places.push_back(static_cast<std::int32_t>(at));
  }

  /// Improves `best` by the splits of one input. With S the sum of y about its mean, the gain of a split is
  /// S_left^2 (1/n_left + 1/n_right), since S_right = -S_left.
  void try_input(Index input, std::span<const Index> rows, double mean, Split& best) {
    sort_places(input, rows);
    const auto* row_at = data.by_value.row(input).data();
    const auto* value = data.values.row(input).data();
    const auto n = static_cast<Index>(places.size());
    double sum = 0.0;
    for (Index i = 0; i + options.least_leaf < n; ++i) {
      const auto row = row_at[places[static_cast<std::size_t>(i)]];
      const double here = value[row], next = value[row_at[places[static_cast<std::size_t>(i + 1)]]];
      sum += y[row] - mean;
      const Index left = i + 1;
      if (left < options.least_leaf || !(here < next)) continue;
      const double gain = sum * sum * (1.0 / static_cast<double>(left) + 1.0 / static_cast<double>(n - left));
      if (gain > best.gain) best = {input, std::midpoint(here, next), gain};
    }
  }

  Split best_split(std::span<const Index> rows, double mean) {
    Split best;
    if (static_cast<Index>(rows.size()) < 2 * options.least_leaf) return best;
    for (Index i = 0; i < options.mtry; ++i) try_input(draw_input(i), rows, mean, best);
    return best;
  }
};

double mean_of_rows(VectorView y, std::span<const Index> rows) {
  double sum = 0.0;
  for (const Index i : rows) sum += y[i];
  return sum / static_cast<double>(rows.size());
}

}  // namespace

SortedInputs::SortedInputs(Matrix x)
    : values(std::move(x)), by_value(values.rows(), values.cols()), place(values.rows(), values.cols()) {
  for (Index f = 0; f < values.rows(); ++f) {
    auto* order = by_value.row(f).data();
    std::iota(order, order + values.cols(), 0);
    std::stable_sort(order, order + values.cols(),
                     [&](std::int32_t a, std::int32_t b) { return values(f, a) < values(f, b); });
    for (Index at = 0; at < values.cols(); ++at) place(f, order[at]) = static_cast<std::int32_t>(at);
  }
}

RegressionTree::RegressionTree(const SortedInputs& inputs, VectorView y, std::vector<Index> rows,
                               const TreeOptions& options, RandomStream& random) {
  Grower grower(inputs, y, options, random);
  struct Task {
    std::size_t node, first, last;
  };
  std::vector<Task> tasks = {{0, 0, rows.size()}};
  nodes_.emplace_back();
  while (!tasks.empty()) {
    const Task task = tasks.back();
    tasks.pop_back();
    const std::span<Index> here(rows.data() + task.first, task.last - task.first);
    const double mean = mean_of_rows(y, here);
    nodes_[task.node].mean = mean;
    const Split split = grower.best_split(here, mean);
    if (split.input < 0) continue;
    const auto goes_left = [&](Index i) { return inputs.values(split.input, i) <= split.threshold; };
    const auto middle = std::stable_partition(here.begin(), here.end(), goes_left);
    const std::size_t cut = task.first + static_cast<std::size_t>(middle - here.begin());
    const std::size_t left = nodes_.size();
    nodes_.resize(left + 2);
    Node& node = nodes_[task.node];
    node.input = split.input;
    node.threshold = split.threshold;
    node.left = left;
    node.right = left + 1;
    tasks.push_back({left, task.first, cut});
    tasks.push_back({left + 1, cut, task.last});
  }
}

double RegressionTree::predict(VectorView inputs) const {
  std::size_t at = 0;
  while (nodes_[at].input >= 0)
    at = inputs[nodes_[at].input] <= nodes_[at].threshold ? nodes_[at].left : nodes_[at].right;
  return nodes_[at].mean;
}

}  // namespace headspan::experiments
