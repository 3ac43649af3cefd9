#include "headspan/numeric/random.h"

#include <Random123/philox.h>

#include <boost/random/chi_squared_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <limits>

#include "headspan/numeric/error.h"

namespace headspan {

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

RandomStream::result_type RandomStream::operator()() {
  if (left_ == 0) {
    const r123::Philox4x64::ctr_type counter = {{counter_++, stream_, 0, 0}};
    const r123::Philox4x64::key_type key = {{seed_, 0}};
    const r123::Philox4x64::ctr_type random = r123::Philox4x64()(counter, key);
    std::copy(random.begin(), random.end(), block_.begin());
    left_ = static_cast<int>(block_.size());
  }
  return block_[block_.size() - static_cast<std::size_t>(left_--)];
}

double RandomStream::uniform() {
  // 52 random bits and a half: never 0 and never 1.
  return (static_cast<double>((*this)() >> 12) + 0.5) * 0x1p-52;
}

// Boost's distributions are the same on every platform, which the standard library's are not.
double RandomStream::normal() { return boost::random::normal_distribution<double>()(*this); }

double RandomStream::chi_square(double dof) {
  if (!(dof > 0)) throw ArgumentError("chi_square: dof must be positive");
  return boost::random::chi_squared_distribution<double>(dof)(*this);
}

Matrix RandomStream::normal_matrix(Index rows, Index cols) {
  Matrix out(rows, cols);
  for (Index i = 0; i < out.size(); ++i) out.data()[i] = normal();
  return out;
}

}  // namespace headspan
