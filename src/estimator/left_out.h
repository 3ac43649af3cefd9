#pragma once
// Heads of this room on their own rows: bandwidth inside the projection, frequencies as the engine takes
// them.

#include <memory>

#include "headspan/nw/gradient.h"

namespace headspan::estimator {

/// The engine is twice as fast without frequencies.
inline std::unique_ptr<nw::LeftOutHead> left_out_head(MatrixView x, VectorView values, VectorView frequency,
                                                      const Matrix& projection) {
  const bool ones = (frequency.array() == 1.0).all();
  return std::make_unique<nw::LeftOutHead>(x, values, ones ? Vector() : Vector(frequency),
                                           nw::EnsembleHead{projection, 1.0});
}

}  // namespace headspan::estimator
