#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <vector>

#include "headspan/numeric/parallel.h"
#include "nw/line.h"

namespace headspan::nw {
namespace {

// Of a block of sorted keys: its width in bandwidths, and its greatest number.
constexpr double kBlockWidth = 0.5;
constexpr std::size_t kLineBlockKeys = 16384;
constexpr std::size_t kLineQueriesPerTask = 4096;

// Coefficients of a polynomial, the constant first; the square of tricube has the most. On the stack: every
// query asks for some.
struct Polynomial {
  std::array<double, 19> coefficients{};
  std::size_t size = 0;

  Polynomial(std::initializer_list<double> given) : size(given.size()) {
    std::copy(given.begin(), given.end(), coefficients.begin());
  }
  double& operator[](std::size_t k) { return coefficients[k]; }
  double operator[](std::size_t k) const { return coefficients[k]; }
};

Polynomial product(const Polynomial& a, const Polynomial& b) {
  Polynomial out{};
  out.size = a.size + b.size - 1;
  for (std::size_t i = 0; i < a.size; ++i)
    for (std::size_t j = 0; j < b.size; ++j) out[i + j] += a[i] * b[j];
  return out;
}

// The kernel function of a distance in bandwidths up to 1.
Polynomial polynomial_of(KernelFunction function) {
  const Polynomial parabola{1.0, 0.0, -1.0}, cubic{1.0, 0.0, 0.0, -1.0};
  switch (function) {
    case KernelFunction::epanechnikov:
      return parabola;
    case KernelFunction::biweight:
      return product(parabola, parabola);
    case KernelFunction::triweight:
      return product(product(parabola, parabola), parabola);
    case KernelFunction::tricube:
      return product(product(cubic, cubic), cubic);
    default:
      return {1.0};
  }
}

// The polynomial of side * (s + x) as one of x.
Polynomial shifted(const Polynomial& of, double s, double side) {
  Polynomial p = of;
  if (side < 0.0)
    for (std::size_t k = 1; k < p.size; k += 2) p[k] = -p[k];
  for (std::size_t k = 0; k + 1 < p.size; ++k)
    for (std::size_t j = p.size - 1; j-- > k;) p[j] += s * p[j + 1];
  return p;
}

struct Block {
  std::size_t first, last;  // of the sorted keys
  double middle;
};

// Bounds on what rounding did to the sums of weights and of their squares.
struct Rounding {
  double weight = 0.0, square = 0.0;
  Rounding& operator+=(const Rounding& other) {
    weight += other.weight;
    square += other.square;
    return *this;
  }
};

class PartialBlocks;

// Sums of powers of -t, t a key's distance from its block's middle in bandwidths: of the keys as many as
// squares of the kernel need, of every value as many as the kernel. moments[i] are those of the block's first
// i keys.
class CompactLine {
 public:
  CompactLine(KernelFunction function, const Vector& keys, const Matrix& values, double bandwidth)
      : function_(function),
        kernel_(polynomial_of(function)),
        square_(product(kernel_, kernel_)),
        keys_(keys),
        values_(values),
        bandwidth_(bandwidth),
        n_moments_(square_.size + kernel_.size * static_cast<std::size_t>(values.cols())) {
    for (std::size_t first = 0; first < n();) {
      std::size_t last = first;
      while (last < n() && last - first < kLineBlockKeys && key(last) - key(first) <= kBlockWidth * bandwidth)
        ++last;
      blocks_.push_back({first, last, 0.5 * (key(first) + key(last - 1))});
      totals_.push_back(moments_of(blocks_.back(), false));
      first = last;
    }
  }

  // sums[0] weights, sums[1] squares, then values, of the keys within one bandwidth. `partial` keeps the
  // moments of blocks that were cut. Keys are visited one by one where rounding might show.
  void sums_at(double query, double relative_error, PartialBlocks& partial, double* sums) const {
    const auto from = first_where([&](double x) { return (query - x) / bandwidth_ <= 1.0; });
    const auto to = first_where([&](double x) { return (x - query) / bandwidth_ > 1.0; });
    const auto middle =
        function_ == KernelFunction::tricube ? first_where([&](double x) { return x > query; }) : to;
    std::fill_n(sums, 2 + values_.cols(), 0.0);
    Rounding rounding = add_range(query, 1.0, from, middle, partial, sums);
    rounding += add_range(query, -1.0, middle, to, partial, sums);
    if (rounding.weight > 0.1 * relative_error * sums[0] || rounding.square > 0.1 * relative_error * sums[1])
      one_by_one(query, from, to, sums);
  }

  std::vector<double> moments_of(const Block& block, bool every_prefix) const {
    std::vector<double> sum(n_moments_, 0.0), all;
    if (every_prefix) all = sum;
    for (std::size_t i = block.first; i < block.last; ++i) {
      const double t = (block.middle - key(i)) / bandwidth_;
      double power = 1.0;
      for (std::size_t k = 0; k < square_.size; ++k, power *= t) {
        sum[k] += power;
        if (k >= kernel_.size) continue;
        for (Index c = 0; c < values_.cols(); ++c)
          sum[square_.size + static_cast<std::size_t>(c) * kernel_.size + k] +=
              power * values_(static_cast<Index>(i), c);
      }
      if (every_prefix) all.insert(all.end(), sum.begin(), sum.end());
    }
    return every_prefix ? all : sum;
  }

 private:
  std::size_t n() const { return static_cast<std::size_t>(keys_.size()); }
  double key(std::size_t i) const { return keys_[static_cast<Index>(i)]; }

  template <class Rule>
  std::size_t first_where(const Rule& rule) const {
    const double* begin = keys_.data();
    return static_cast<std::size_t>(
        std::partition_point(begin, begin + keys_.size(), [&](double x) { return !rule(x); }) - begin);
  }

  // Adds keys [from, to), all on one side of the query.
  Rounding add_range(double query, double side, std::size_t from, std::size_t to, PartialBlocks& partial,
                     double* sums) const;

  Rounding add_block(double s, double side, const double* moments, std::size_t n_keys, double* sums) const {
    const Polynomial weight = shifted(kernel_, s, side), square = shifted(square_, s, side);
    Rounding size;
    double power = 1.0;
    for (std::size_t k = 0; k < square.size; ++k, power *= 0.5 * kBlockWidth) {
      sums[1] += square[k] * moments[k];
      size.square += std::abs(square[k]) * power;
      if (k >= weight.size) continue;
      sums[0] += weight[k] * moments[k];
      size.weight += std::abs(weight[k]) * power;
      for (Index c = 0; c < values_.cols(); ++c)
        sums[2 + c] += weight[k] * moments[square_.size + static_cast<std::size_t>(c) * weight.size + k];
    }
    const auto count = static_cast<double>(n_keys);
    // A sum of so many terms in turn, and some roundings of every term.
    const double factor = std::numeric_limits<double>::epsilon() * (count + 32.0) * count;
    return {factor * size.weight, factor * size.square};
  }

  void one_by_one(double query, std::size_t from, std::size_t to, double* sums) const {
    std::fill_n(sums, 2 + values_.cols(), 0.0);
    for (std::size_t i = from; i < to; ++i) {
      const double w = kernel_value(function_, std::abs(query - key(i)) / bandwidth_);
      sums[0] += w;
      sums[1] += w * w;
      for (Index c = 0; c < values_.cols(); ++c) sums[2 + c] += w * values_(static_cast<Index>(i), c);
    }
  }

  friend class PartialBlocks;
  KernelFunction function_;
  Polynomial kernel_, square_;
  const Vector& keys_;
  const Matrix& values_;
  double bandwidth_;
  std::size_t n_moments_;
  std::vector<Block> blocks_;
  std::vector<std::vector<double>> totals_;
};

// Moments of every prefix of the blocks that the queries of one task cut.
class PartialBlocks {
 public:
  explicit PartialBlocks(const CompactLine& line) : difference(line.n_moments_), line_(line) {}
  std::vector<double> difference;  // of two prefixes, the last taken
  const std::vector<double>& of(std::size_t block) {
    const auto found = kept_.find(block);
    if (found != kept_.end()) return found->second;
    // Queries rise, so a block far behind is not cut again.
    while (kept_.size() >= 6) kept_.erase(kept_.begin());
    return kept_.emplace(block, line_.moments_of(line_.blocks_[block], true)).first->second;
  }

 private:
  const CompactLine& line_;
  std::map<std::size_t, std::vector<double>> kept_;
};

Rounding CompactLine::add_range(double query, double side, std::size_t from, std::size_t to,
                                PartialBlocks& partial, double* sums) const {
  Rounding rounding;
  if (from >= to) return rounding;
  auto block = static_cast<std::size_t>(
      std::partition_point(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.last <= from; }) -
      blocks_.begin());
  for (; block < blocks_.size() && blocks_[block].first < to; ++block) {
    const Block& b = blocks_[block];
    const std::size_t first = std::max(from, b.first), last = std::min(to, b.last);
    const double* moments = totals_[block].data();
    if (first != b.first || last != b.last) {
      const std::vector<double>& prefix = partial.of(block);
      const double *low = prefix.data() + (first - b.first) * n_moments_,
                   *high = prefix.data() + (last - b.first) * n_moments_;
      std::transform(high, high + n_moments_, low, partial.difference.begin(), std::minus<>());
      moments = partial.difference.data();
    }
    rounding += add_block((query - b.middle) / bandwidth_, side, moments, b.last - b.first, sums);
  }
  return rounding;
}

}  // namespace

Sums sum_on_line_compact(KernelFunction function, VectorView queries, VectorView keys, MatrixView values,
                         double bandwidth, double relative_error) {
  const RisingPoints sorted_keys = rising(keys), sorted = rising(queries);
  // Relative to the middle of each, so that errors are shares of the values' spread.
  const Eigen::RowVectorXd middle = 0.5 * (values.colwise().minCoeff() + values.colwise().maxCoeff());
  const Matrix sorted_values = values(sorted_keys.order, Eigen::all).rowwise() - middle;
  const CompactLine line(function, sorted_keys.points, sorted_values, bandwidth);
  const Index m = queries.size(), columns = values.cols();
  Sums sums{Vector::Zero(m), Vector::Zero(m), Matrix::Zero(m, columns)};
  const std::size_t n_queries = sorted.order.size(),
                    n_tasks = (n_queries + kLineQueriesPerTask - 1) / kLineQueriesPerTask;
  parallel_for(static_cast<Index>(n_tasks), [&](Index task) {
    PartialBlocks partial(line);
    Vector row(2 + columns);
    const std::size_t first = static_cast<std::size_t>(task) * kLineQueriesPerTask;
    for (std::size_t i = first; i < std::min(n_queries, first + kLineQueriesPerTask); ++i) {
      const Index q = sorted.order[i];
      line.sums_at(sorted.points[static_cast<Index>(i)], relative_error, partial, row.data());
      sums.weight[q] = row[0];
      sums.squares[q] = row[1];
      sums.values.row(q) = row.tail(columns).transpose() + row[0] * middle;
    }
  });
  return sums;
}

}  // namespace headspan::nw
