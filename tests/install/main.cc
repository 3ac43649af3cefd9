// A user's program outside the tree: builds against the installed headers and libraries, and checks one
// number.

#include <cmath>
#include <iostream>
#include <sstream>

#include "headspan/audit/audit.h"
#include "headspan/audit/facts.h"
#include "headspan/audit/options.h"
#include "headspan/checkpoint/container.h"
#include "headspan/checkpoint/layout.h"
#include "headspan/checkpoint/model.h"
#include "headspan/ensemble/correlation.h"
#include "headspan/numeric/decompose.h"
#include "headspan/numeric/error.h"
#include "headspan/numeric/gaussian_laws.h"
#include "headspan/numeric/heads.h"
#include "headspan/numeric/io.h"
#include "headspan/numeric/matrix.h"
#include "headspan/numeric/parallel.h"
#include "headspan/numeric/random.h"
#include "headspan/numeric/widen.h"
#include "headspan/report/report.h"
#include "headspan/subspace/basis.h"
#include "headspan/subspace/block_roles.h"
#include "headspan/subspace/overlap.h"
#include "headspan/subspace/pair_products.h"
#include "headspan/subspace/principal_angles.h"
#include "headspan/subspace/random_heads.h"
#include "headspan/table/npy.h"

namespace {

// Two heads of dimension 1 in the plane, 60 degrees apart: overlap cos^2 = 1/4, so the index is 3/4.
headspan::LayerHeads two_heads() {
  headspan::LayerHeads heads;
  heads.query.weight = headspan::Matrix(2, 2);
  heads.query.weight << 1.0, 0.0, 0.5, std::sqrt(0.75);
  heads.query.n_heads = 2;
  heads.query.head_dim = 1;
  heads.query.unit_roundoff = std::ldexp(1.0, -53);
  heads.key = heads.value = heads.output = heads.query;
  return heads;
}

}  // namespace

int main() {
  const auto layer = headspan::audit::audit_layer(two_heads(), headspan::audit::AuditOptions{});
  const auto hdi = layer.sources.front().diversity.hdi;
  if (!hdi || std::abs(*hdi - 0.75) > 1e-12) {
    std::cerr << "query_subspace hdi " << hdi.value_or(-1.0) << ", not 0.75\n";
    return 1;
  }
  headspan::audit::AuditReport report;
  report.layers.push_back(layer);
  std::ostringstream csv;
  headspan::report::write_csv(csv, report);
  if (csv.str().find("query_subspace") == std::string::npos) {
    std::cerr << "no query_subspace row in the CSV\n";
    return 1;
  }
  std::cout << "hdi " << *hdi << '\n';
  return 0;
}
