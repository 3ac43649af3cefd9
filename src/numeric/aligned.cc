#include "headspan/numeric/aligned.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace headspan {

void* allocate_aligned(std::size_t bytes) {
  constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // Advice: where it is refused the pages are small and the result the same.
  if (alignment == kHugePage) static_cast<void>(madvise(memory, rounded, MADV_HUGEPAGE));
  return memory;
}

void free_aligned(void* memory) { std::free(memory); }

}  // namespace headspan
