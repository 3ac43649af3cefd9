#pragma once
// The minimum of a quadratic form over weights of sum one that are zero outside some members.

#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::ensemble {

struct FaceMinimum {
  Vector weights;  // [face.size()], sum one, any sign
  bool singular =
      false;  // not the only one: members whose difference is already given by others have weight 0
};

/// Minimises a^T M a over a supported on `face` (not empty), which may be any order of distinct members.
/// Throws ArgumentError where the form curves downwards.
FaceMinimum face_minimum(MatrixView m, const std::vector<Index>& face);

}  // namespace headspan::ensemble
