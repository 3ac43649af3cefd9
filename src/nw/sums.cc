#include "nw/sums.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "headspan/numeric/parallel.h"

namespace headspan::nw {
namespace {

// All sizes here depend on the data alone, and with them every sum's order.
constexpr Index kNarrowTile = 32 * kGroup;  // queries that share a block of keys while it is in cache
constexpr Index kWideTile = 8 * kGroup;     // queries whose weights of a block stay in cache
constexpr Index kMostBlockKeys = 512;
constexpr Index kBlockBytes = 16 << 10;          // of keys, half the smallest first-level cache
constexpr Index kSpanKeys = Index{1} << 16;      // keys of one task; their sums are added in order
constexpr Index kBatchQueries = Index{1} << 15;  // bounds the memory of sums not yet added up

template <class T>
Index block_keys(Index d) {
  const Index fitting = kBlockBytes / (d * static_cast<Index>(sizeof(T)));
  return round_up(std::clamp<Index>(fitting, 2 * kPanel<T>, kMostBlockKeys), 2 * kPanel<T>);
}

// Few columns go transposed, each a row that runs along the keys; many go in panels of columns padded to
// whole vectors.
template <class T>
struct Values {
  bool narrow = false;
  Index columns = 0, stride = 0;
  AlignedArray<T> data;
};

template <class T>
Values<T> transposed(const Eigen::Ref<const RowMatrix<T>>& values) {
  Values<T> out;
  const Index dim = values.cols(), n = values.rows();
  out.narrow = true;
  out.columns = dim <= 2 ? std::max<Index>(dim, 1) : 4;
  out.stride = round_up(n, 2 * kPanel<T>);
  out.data.resize(out.columns * out.stride);
  std::fill_n(out.data.data(), out.data.size(), T(0));
  for (Index c = 0; c < dim; ++c)
    for (Index i = 0; i < n; ++i) out.data[c * out.stride + i] = values(i, c);
  return out;
}

template <class T>
Values<T> in_panels(const Eigen::Ref<const RowMatrix<T>>& values) {
  Values<T> out;
  out.columns = round_up(values.cols(), kValuePad<T>);
  out.stride = values.rows() * kPanel<T>;
  out.data.resize(values.rows() * out.columns);
  std::fill_n(out.data.data(), out.data.size(), T(0));
  for (Index i = 0; i < values.rows(); ++i)
    for (Index c = 0; c < values.cols(); ++c)
      out.data[c / kPanel<T> * out.stride + i * kPanel<T> + c % kPanel<T>] = values(i, c);
  return out;
}

constexpr Index kMostNarrowColumns = 4;

template <class T>
Values<T> arranged(const Eigen::Ref<const RowMatrix<T>>& values) {
  return values.cols() <= kMostNarrowColumns ? transposed<T>(values) : in_panels<T>(values);
}

// One task: a tile of queries against a span of keys.
struct Task {
  Index first_query, m, first_key, last_key;
};

// [m][2 + columns] of one task, added to by every block.
template <class T>
class Accumulator {
 public:
  Accumulator(const Task& task, Index columns)
      : width_(2 + columns), sums_(static_cast<std::size_t>(round_up(task.m, kGroup) * width_), 0.0) {}
  double* data() { return sums_.data(); }
  double* row(Index q) { return sums_.data() + q * width_; }
  const std::vector<double>& sums() const { return sums_; }

 private:
  Index width_;
  std::vector<double> sums_;
};

template <class T>
struct Work {
  const Scoring<T>& scoring;
  const Values<T>& values;
  SumOptions options;
};

template <class T>
AlignedArray<T> packed_queries(const Scoring<T>& scoring, const Task& task) {
  AlignedArray<T> out(round_up(task.m, kGroup) * scoring.d);
  pack_queries(scoring.queries.row(task.first_query).data(), scoring.queries.outerStride(), task.m, scoring.d,
               T(1), out.data());
  return out;
}

template <class T>
std::vector<T> shifts(const Scoring<T>& scoring, const Task& task) {
  std::vector<T> out(static_cast<std::size_t>(round_up(task.m, kGroup)), T(0));
  std::copy_n(scoring.shift.begin() + task.first_query, task.m, out.begin());
  return out;
}

template <class T>
NarrowBlock<T> narrow_block_of(const Scoring<T>& scoring, const T* queries, Index m, T* scratch) {
  NarrowBlock<T> block{};
  block.tile = {queries, nullptr, nullptr, scoring.scale.data(), m, 0, scoring.d, scratch, kMostBlockKeys};
  block.score = scoring.how;
  block.weight = scoring.weight;
  return block;
}

// Sets the block to keys [key, key + n), its bias and own keys with them.
template <class T>
void aim(const Scoring<T>& scoring, const Task& task, bool own_key_out, Index key, Index n,
         NarrowBlock<T>& block) {
  block.tile.keys = scoring.key_block(key);
  block.tile.bias = scoring.bias.data() + key;
  block.tile.n = n;
  block.first_own_key = own_key_out ? task.first_query - key : kNoOwnKey;
}

// Calls body(key, n) for every block of keys of the task.
template <class T, class Body>
void for_each_block(const Scoring<T>& scoring, const Task& task, const Body& body) {
  const Index step = block_keys<T>(scoring.d);
  for (Index key = task.first_key; key < task.last_key; key += step)
    body(key, std::min(step, task.last_key - key));
}

// Weighs the scores of a tile in place and adds up weights and squares.
template <class T>
void weigh_tile(const NarrowBlock<T>& block, const std::vector<T>& shift, std::vector<RowSums<T>>& rows,
                Accumulator<T>& sums) {
  const Index n = round_up(block.tile.n, 2 * kPanel<T>);
  for (Index q = 0; q < block.tile.m; ++q) {
    const Index own = block.first_own_key + q;
    if (own >= 0 && own < block.tile.n)
      block.tile.scores[q * block.tile.stride + own] = -std::numeric_limits<T>::infinity();
  }
  weigh_rows(block.weight, shift.data(), {block.tile.scores, block.tile.stride, block.tile.m, n},
             rows.data());
  for (Index q = 0; q < block.tile.m; ++q) {
    const RowSums<T>& row = rows[static_cast<std::size_t>(q)];
    sums.row(q)[0] += static_cast<double>(row.sum);
    sums.row(q)[1] += static_cast<double>(row.sum_of_squares);
  }
}

// Values of a tile in working precision, handed over to double before rounding can stall them.
template <class T>
class ValueAccumulator {
 public:
  ValueAccumulator(Index m, Index columns) : m_(m), columns_(columns), data_(round_up(m, kGroup) * columns) {
    std::fill_n(data_.data(), data_.size(), T(0));
  }
  void add(const NarrowBlock<T>& block, const Values<T>& values, Index key) {
    accumulate_values(ValueTile<T>{block.tile.scores, block.tile.stride, values.data.data() + key * kPanel<T>,
                                   values.stride, m_, block.tile.n, columns_, data_.data(), columns_});
  }
  void hand_over(Accumulator<T>& sums) {
    for (Index q = 0; q < m_; ++q)
      for (Index c = 0; c < columns_; ++c) sums.row(q)[2 + c] += static_cast<double>(data_[q * columns_ + c]);
    std::fill_n(data_.data(), data_.size(), T(0));
  }

 private:
  Index m_, columns_;
  AlignedArray<T> data_;
};

constexpr Index kKeysPerPartialSum = 4096;

// Sums of one tile of queries, block of keys after block.
template <class T>
class TileSums {
 public:
  TileSums(const Work<T>& work, const Task& task)
      : work_(work),
        task_(task),
        queries_(packed_queries(work.scoring, task)),
        shift_(shifts(work.scoring, task)),
        scores_((work.values.narrow ? kGroup : round_up(task.m, kGroup)) * kMostBlockKeys),
        sums_(task, work.values.columns),
        values_(work.values.narrow ? 0 : task.m, work.values.columns),
        row_sums_(static_cast<std::size_t>(work.values.narrow ? 0 : task.m)),
        block_(narrow_block_of(work.scoring, queries_.data(), task.m, scores_.data())) {
    std::fill_n(scores_.data(), scores_.size(), T(0));
    block_.shift = shift_.data();
    block_.value_stride = work.values.stride;
    block_.columns = work.values.columns;
    block_.squares = work.options.squares;
    block_.sums = sums_.data();
  }

  /// Adds keys [key, key + n), key a multiple of two panels, n at most kMostBlockKeys.
  void add(Index key, Index n) {
    aim(work_.scoring, task_, work_.options.own_key_out, key, n, block_);
    if (work_.values.narrow) {
      block_.values = work_.values.data.data() + key;
      narrow_block(block_);
      return;
    }
    score_tile(block_.score, block_.tile);
    weigh_tile(block_, shift_, row_sums_, sums_);
    values_.add(block_, work_.values, key);
    since_ += n;
    if (since_ < kKeysPerPartialSum) return;
    values_.hand_over(sums_);
    since_ = 0;
  }

  /// Least sum of weights over the queries so far.
  double least_weight() {
    double least = std::numeric_limits<double>::infinity();
    for (Index q = 0; q < task_.m; ++q) least = std::min(least, sums_.row(q)[0]);
    return least;
  }

  std::vector<double> finish() {
    if (!work_.values.narrow) values_.hand_over(sums_);
    return sums_.sums();
  }

 private:
  const Work<T>& work_;
  const Task& task_;
  AlignedArray<T> queries_;
  std::vector<T> shift_;
  AlignedArray<T> scores_;
  Accumulator<T> sums_;
  ValueAccumulator<T> values_;
  std::vector<RowSums<T>> row_sums_;
  NarrowBlock<T> block_;
  Index since_ = 0;
};

template <class T>
std::vector<double> sums_of_task(const Work<T>& work, const Task& task) {
  TileSums<T> sums(work, task);
  for_each_block(work.scoring, task, [&](Index key, Index n) { sums.add(key, n); });
  return sums.finish();
}

Sums empty_sums(Index m, Index value_dim) {
  return {Vector::Zero(m), Vector::Zero(m), Matrix::Zero(m, value_dim)};
}

void add_task(const std::vector<double>& part, const Task& task, Index columns, Sums& to) {
  for (Index q = 0; q < task.m; ++q) {
    const double* row = part.data() + q * (2 + columns);
    to.weight[task.first_query + q] += row[0];
    to.squares[task.first_query + q] += row[1];
    for (Index c = 0; c < to.values.cols(); ++c) to.values(task.first_query + q, c) += row[2 + c];
  }
}

std::vector<Task> tasks_of(Index first_query, Index last_query, Index n, Index tile) {
  std::vector<Task> tasks;
  for (Index q = first_query; q < last_query; q += tile)
    for (Index key = 0; key < n; key += kSpanKeys)
      tasks.push_back({q, std::min(tile, last_query - q), key, std::min(n, key + kSpanKeys)});
  return tasks;
}

// `part_of(task)` of every task, in parallel; `add(part, task)` in the tasks' order.
template <class PartOf, class Add>
void run_tasks(Index m, Index n, Index tile, const PartOf& part_of, const Add& add) {
  for (Index first = 0; first < m; first += kBatchQueries) {
    const std::vector<Task> tasks = tasks_of(first, std::min(m, first + kBatchQueries), n, tile);
    std::vector<decltype(part_of(tasks.front()))> parts(tasks.size());
    parallel_for(static_cast<Index>(tasks.size()), [&](Index i) {
      parts[static_cast<std::size_t>(i)] = part_of(tasks[static_cast<std::size_t>(i)]);
    });
    for (std::size_t i = 0; i < tasks.size(); ++i) add(parts[i], tasks[i]);
  }
}

}  // namespace

template <class T>
Sums sum_over_keys(const Scoring<T>& scoring, const Eigen::Ref<const RowMatrix<T>>& values,
                   const SumOptions& options) {
  const Values<T> arranged_values = arranged<T>(values);
  const Work<T> work{scoring, arranged_values, options};
  Sums sums = empty_sums(scoring.queries.rows(), values.cols());
  run_tasks(
      scoring.queries.rows(), scoring.n, arranged_values.narrow ? kNarrowTile : kWideTile,
      [&](const Task& task) { return sums_of_task(work, task); },
      [&](const std::vector<double>& part, const Task& task) {
        add_task(part, task, work.values.columns, sums);
      });
  return sums;
}

namespace {

// Greatest weight of a key in `box` for a query in `tile`.
double greatest_weight(const Kernel& kernel, const Box& tile, const Box& box) {
  const double u = least_distance(tile, box);
  if (kernel.function == KernelFunction::gaussian) return std::exp(-0.5 * u * u);
  return kernel_value(kernel.function, u);
}

// Visits the keys of the tree nearest first, until what is left cannot weigh more than the bound.
template <class T>
std::vector<double> sums_of_near_keys(const Work<T>& work, const Pruning& pruning, const Task& task,
                                      const Box& tile) {
  struct Candidate {
    double weight;
    Index node;
    bool operator<(const Candidate& other) const {
      return weight != other.weight ? weight < other.weight : node > other.node;
    }
  };
  TileSums<T> sums(work, task);
  const KeyTree& tree = pruning.keys;
  std::priority_queue<Candidate> queue;
  double left = 0.0;
  const auto push = [&](Index node) {
    const double weight =
        greatest_weight(pruning.kernel, tile, tree.nodes[static_cast<std::size_t>(node)].box);
    left += weight * static_cast<double>(tree.nodes[static_cast<std::size_t>(node)].count());
    queue.push({weight, node});
  };
  // Rounding of the running sum `left`, which weights of at most 1 went into and out of.
  const double rounding = 1e-13 * static_cast<double>(work.scoring.n);
  push(0);
  while (!queue.empty() && queue.top().weight > 0.0) {
    if (pruning.relative_error > 0.0 && left + rounding <= pruning.relative_error * sums.least_weight())
      break;
    const Candidate next = queue.top();
    queue.pop();
    const KeyTree::Node& node = tree.nodes[static_cast<std::size_t>(next.node)];
    left -= next.weight * static_cast<double>(node.count());
    if (node.is_leaf()) {
      sums.add(node.first, node.count());
    } else {
      push(node.left);
      push(node.right);
    }
  }
  return sums.finish();
}

}  // namespace

template <class T>
Sums sum_over_near_keys(const Scoring<T>& scoring, const Eigen::Ref<const RowMatrix<T>>& values,
                        const SumOptions& options, const Pruning& pruning) {
  const Values<T> arranged_values = arranged<T>(values);
  const Work<T> work{scoring, arranged_values, options};
  std::vector<Index> leaves;
  for (std::size_t i = 0; i < pruning.queries.nodes.size(); ++i)
    if (pruning.queries.nodes[i].is_leaf()) leaves.push_back(static_cast<Index>(i));
  Sums sums = empty_sums(scoring.queries.rows(), values.cols());
  parallel_for(static_cast<Index>(leaves.size()), [&](Index i) {
    const KeyTree::Node& leaf =
        pruning.queries.nodes[static_cast<std::size_t>(leaves[static_cast<std::size_t>(i)])];
    const Task task{leaf.first, leaf.count(), 0, scoring.n};
    // Every leaf writes its own queries.
    add_task(sums_of_near_keys(work, pruning, task, leaf.box), task, arranged_values.columns, sums);
  });
  return sums;
}

template <class T>
std::vector<T> largest_scores(const Scoring<T>& scoring, bool own_key_out) {
  std::vector<T> top(static_cast<std::size_t>(scoring.queries.rows()), -std::numeric_limits<T>::infinity());
  run_tasks(
      scoring.queries.rows(), scoring.n, kNarrowTile,
      [&](const Task& task) {
        const AlignedArray<T> queries = packed_queries(scoring, task);
        AlignedArray<T> scratch(kGroup * kMostBlockKeys);
        std::vector<T> part(static_cast<std::size_t>(task.m), -std::numeric_limits<T>::infinity());
        NarrowBlock<T> block = narrow_block_of(scoring, queries.data(), task.m, scratch.data());
        for_each_block(scoring, task, [&](Index key, Index n) {
          aim(scoring, task, own_key_out, key, n, block);
          narrow_largest(block, part.data());
        });
        return part;
      },
      [&](const std::vector<T>& part, const Task& task) {
        for (Index q = 0; q < task.m; ++q) {
          T& value = top[static_cast<std::size_t>(task.first_query + q)];
          value = std::max(value, part[static_cast<std::size_t>(q)]);
        }
      });
  return top;
}

namespace {

// Weights of a tile of queries and a block of keys as a product over the dimensions.
template <class T>
void weigh_product(const std::vector<Scoring<T>>& dimensions, const Task& task, Index key, Index n,
                   T* weights, T* factor, std::vector<RowSums<T>>& sums) {
  const Index size = round_up(task.m, kGroup) * kMostBlockKeys;
  std::fill_n(weights, size, T(1));
  for (const Scoring<T>& one : dimensions) {
    const AlignedArray<T> queries = packed_queries(one, task);
    score_tile(one.how, ScoreTile<T>{queries.data(), one.key_block(key), one.bias.data() + key,
                                     one.scale.data(), task.m, n, Index{1}, factor, kMostBlockKeys});
    weigh_rows(one.weight, one.shift.data() + task.first_query,
               {factor, kMostBlockKeys, task.m, round_up(n, 2 * kPanel<T>)}, sums.data());
    for (Index q = 0; q < task.m; ++q)
      for (Index i = 0; i < n; ++i) weights[q * kMostBlockKeys + i] *= factor[q * kMostBlockKeys + i];
  }
}

template <class T>
std::vector<double> product_sums(const std::vector<Scoring<T>>& dimensions, const Values<T>& values,
                                 const Task& task, bool own_key_out) {
  const Index size = round_up(task.m, kGroup) * kMostBlockKeys;
  AlignedArray<T> weights(size), factor(size);
  std::vector<RowSums<T>> factor_sums(static_cast<std::size_t>(task.m));
  Accumulator<T> sums(task, values.columns);
  ValueAccumulator<T> weighted(task.m, values.columns);
  NarrowBlock<T> block{};
  block.tile.scores = weights.data();
  block.tile.stride = kMostBlockKeys;
  for (Index key = task.first_key; key < task.last_key; key += kMostBlockKeys) {
    block.tile.n = std::min(kMostBlockKeys, task.last_key - key);
    weigh_product(dimensions, task, key, block.tile.n, weights.data(), factor.data(), factor_sums);
    for (Index q = 0; q < task.m; ++q) {
      T* row = weights.data() + q * kMostBlockKeys;
      const Index own = own_key_out ? task.first_query + q - key : Index{-1};
      if (own >= 0 && own < block.tile.n) row[own] = T(0);
      const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>> w(row, block.tile.n);
      sums.row(q)[0] += w.template cast<double>().sum();
      sums.row(q)[1] += w.template cast<double>().square().sum();
    }
    weighted.add(block, values, key);
    weighted.hand_over(sums);
  }
  return sums.sums();
}

}  // namespace

template <class T>
Sums sum_over_keys_of_product(KernelFunction function, const Inputs<T>& inputs,
                              const Eigen::Ref<const RowMatrix<T>>& values, const SumOptions& options) {
  std::vector<Scoring<T>> dimensions;
  for (Index j = 0; j < inputs.keys.cols(); ++j) {
    const RowMatrix<T> queries = inputs.queries.col(j), keys = inputs.keys.col(j);
    dimensions.push_back(
        prepare<T>({function, KernelShape::radial}, {queries, keys, inputs.bandwidth.segment(j, 1)}));
  }
  const Values<T> arranged_values = in_panels<T>(values);
  Sums sums = empty_sums(inputs.queries.rows(), values.cols());
  run_tasks(
      inputs.queries.rows(), inputs.keys.rows(), kWideTile,
      [&](const Task& task) { return product_sums(dimensions, arranged_values, task, options.own_key_out); },
      [&](const std::vector<double>& part, const Task& task) {
        add_task(part, task, arranged_values.columns, sums);
      });
  return sums;
}

#define HEADSPAN_INSTANTIATE(T)                                                                             \
  template Sums sum_over_keys(const Scoring<T>&, const Eigen::Ref<const RowMatrix<T>>&, const SumOptions&); \
  template Sums sum_over_near_keys(const Scoring<T>&, const Eigen::Ref<const RowMatrix<T>>&,                \
                                   const SumOptions&, const Pruning&);                                      \
  template std::vector<T> largest_scores(const Scoring<T>&, bool);                                          \
  template Sums sum_over_keys_of_product(KernelFunction, const Inputs<T>&,                                  \
                                         const Eigen::Ref<const RowMatrix<T>>&, const SumOptions&);
HEADSPAN_INSTANTIATE(float)
HEADSPAN_INSTANTIATE(double)
#undef HEADSPAN_INSTANTIATE

}  // namespace headspan::nw
