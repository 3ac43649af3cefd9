#pragma once
// Memory for vector code: aligned, uninitialised, reused.

#include <cstddef>
#include <memory>
#include <new>

#include "headspan/numeric/matrix.h"

namespace headspan {

/// An array of trivially copyable elements at a cache line's start, not initialised. It keeps its memory when
/// asked for less.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(Index size) { resize(size); }
  /// Room for `size` elements; what was there is lost where it must grow.
  void resize(Index size) {
    if (size > capacity_) {
      const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
      data_.reset(static_cast<T*>(::operator new(bytes, kAlignment)));
      capacity_ = size;
    }
    size_ = size;
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  Index size() const { return size_; }
  T& operator[](Index i) { return data_.get()[i]; }
  const T& operator[](Index i) const { return data_.get()[i]; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<T, Free> data_;
  Index size_ = 0, capacity_ = 0;
};

}  // namespace headspan
