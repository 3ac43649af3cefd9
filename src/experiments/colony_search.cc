#include "experiments/colony_search.h"

#include <algorithm>
#include <cmath>

namespace headspan::experiments {
namespace {

// Prior of the Thompson rule: qualities lie between 0 and 1.
constexpr double kPriorMean = 0.5, kPriorPrecision = 1.0;

Index uniform_below(RandomStream& random, Index n) {
  return std::min(n - 1, static_cast<Index>(random.uniform() * static_cast<double>(n)));
}

class Search {
 public:
  Search(const ColonyOptions& options, double exploration, RandomStream& random)
      : o_(options),
        exploration_(exploration),
        random_(random),
        weight_(Matrix::Zero(options.n_scouts, options.n_sites)),
        sum_(weight_),
        pheromone_(Vector::Ones(options.n_sites)),
        trail_weight_(Vector::Zero(options.n_sites)),
        trail_sum_(trail_weight_) {}

  SearchEnd run() {
    Index step = 0;
    while (step < o_.n_steps) {
      ++step;
      if (has_quorum(take_step())) break;
    }
    SearchEnd end{weight_, Matrix::Zero(o_.n_scouts, o_.n_sites), step};
    for (Index i = 0; i < weight_.size(); ++i)
      if (weight_.data()[i] > 0.0) end.estimate.data()[i] = sum_.data()[i] / weight_.data()[i];
    return end;
  }

 private:
  /// Everyone moves, observes and recruits; returns how many scouts were at each site.
  Vector take_step() {
    Vector present = Vector::Zero(o_.n_sites);
    Vector pheromone = (1.0 - o_.evaporation) * pheromone_;
    Vector trail_weight = (1.0 - o_.evaporation) * trail_weight_,
           trail_sum = (1.0 - o_.evaporation) * trail_sum_;
    for (Index scout = 0; scout < o_.n_scouts; ++scout) {
      const bool explores = random_.uniform() < exploration_;
      const Index site = explores ? uniform_below(random_, o_.n_sites) : chosen(scout);
      present[site] += 1.0;
      learn(scout, site, quality(site, o_) + o_.noise_sd * random_.normal(), 1.0);
      const bool follows = !explores && o_.rule == ColonyRule::pheromone;
      if (follows && trail_weight_[site] > 0.0)
        learn(scout, site, trail_sum_[site] / trail_weight_[site], o_.sharing);
      const double mean = sum_(scout, site) / weight_(scout, site), excess = mean - average_of_means(scout);
      if (excess > 0.0) {
        pheromone[site] += excess;
        trail_weight[site] += 1.0;
        trail_sum[site] += mean;
      }
    }
    pheromone_ = pheromone;
    trail_weight_ = trail_weight;
    trail_sum_ = trail_sum;
    return present;
  }

  void learn(Index scout, Index site, double value, double weight) {
    weight_(scout, site) += weight;
    sum_(scout, site) += weight * value;
  }

  Index chosen(Index scout) { return o_.rule == ColonyRule::thompson ? by_posterior(scout) : by_pheromone(); }

  Index by_pheromone() {
    const double total = pheromone_.sum();
    if (!(total > 0.0)) return uniform_below(random_, o_.n_sites);  // all of it evaporated
    double left = random_.uniform() * total;
    for (Index site = 0; site + 1 < o_.n_sites; ++site) {
      left -= pheromone_[site];
      if (left < 0.0) return site;
    }
    return o_.n_sites - 1;
  }

  Index by_posterior(Index scout) {
    Index best = 0;
    double most = -HUGE_VAL;
    const double precision = 1.0 / (o_.noise_sd * o_.noise_sd);
    for (Index site = 0; site < o_.n_sites; ++site) {
      const double posterior = kPriorPrecision + precision * weight_(scout, site);
      const double mean = (kPriorPrecision * kPriorMean + precision * sum_(scout, site)) / posterior;
      const double draw = mean + random_.normal() / std::sqrt(posterior);
      if (draw > most) {
        most = draw;
        best = site;
      }
    }
    return best;
  }

  double average_of_means(Index scout) const {
    double total = 0.0, visited = 0.0;
    for (Index site = 0; site < o_.n_sites; ++site)
      if (weight_(scout, site) > 0.0) {
        total += sum_(scout, site) / weight_(scout, site);
        visited += 1.0;
      }
    return total / visited;
  }

  bool has_quorum(const Vector& present) const {
    return o_.quorum > 0.0 && present.maxCoeff() >= o_.quorum * static_cast<double>(o_.n_scouts);
  }

  const ColonyOptions& o_;
  double exploration_;
  RandomStream& random_;
  Matrix weight_, sum_;
  Vector pheromone_, trail_weight_, trail_sum_;
};

}  // namespace

double quality(Index site, const ColonyOptions& options) {
  return static_cast<double>(site + 1) / static_cast<double>(options.n_sites);
}

SearchEnd search(const ColonyOptions& options, double exploration, RandomStream& random) {
  return Search(options, exploration, random).run();
}

}  // namespace headspan::experiments
