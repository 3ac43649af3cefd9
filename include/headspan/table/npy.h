#pragma once
// Arrays in NumPy's .npy format.

#include <string>

#include "headspan/numeric/matrix.h"

namespace headspan::table {

/// A 2-D real array from a .npy file (format versions 1 to 3; '<f8' '<f4' '>f8' '>f4', C or Fortran order),
/// as doubles [rows, cols]. Throws DataError naming the place: object arrays, other dtypes, other ranks,
/// truncated or overlong files. Non-finite entries are returned as they are.
Matrix read_npy(const std::string& path);

}  // namespace headspan::table
