#pragma once
// Memory for vector code: aligned, uninitialised, reused.

#include <cstddef>
#include <memory>

#include "headspan/numeric/matrix.h"

namespace headspan {

/// `bytes` at the start of a cache line, not initialised; 2 MiB and more lie on huge pages where the system
/// has them, since touching small ones for the first time costs more than filling them. Throws
/// std::bad_alloc.
void* allocate_aligned(std::size_t bytes);
void free_aligned(void* memory);

/// An array of trivially copyable elements in such memory. It keeps its memory when asked for less.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(Index size) { resize(size); }
  /// Room for `size` elements; what was there is lost where it must grow.
  void resize(Index size) {
    if (size > capacity_) {
      data_.reset(static_cast<T*>(allocate_aligned(static_cast<std::size_t>(size) * sizeof(T))));
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
  struct Free {
    void operator()(T* data) const { free_aligned(data); }
  };
  std::unique_ptr<T, Free> data_;
  Index size_ = 0, capacity_ = 0;
};

}  // namespace headspan
