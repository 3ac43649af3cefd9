#pragma once
// The one matrix type of headspan: row-major, dense.

#include <Eigen/Core>

namespace headspan {

template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using Index = Eigen::Index;
using Matrix = RowMatrix<double>;
using Vector = Eigen::VectorXd;
/// Read-only view of a row-major matrix; rows may be further apart than they are wide.
using MatrixView = Eigen::Ref<const Matrix>;
/// Writable view of a row-major matrix.
using MatrixSpan = Eigen::Ref<Matrix>;
using VectorView = Eigen::Ref<const Vector>;

}  // namespace headspan
