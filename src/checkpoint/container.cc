#include "headspan/checkpoint/container.h"

#include <fmt/format.h>

namespace headspan::checkpoint {

std::int64_t TensorEntry::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t length : shape) {
    if (length == 0) return 0;
    // No overflow: a container lets no shape in whose product has no room, unless one axis is empty.
    product = product > INT64_MAX / length ? 0 : product * length;
  }
  return product;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

const TensorEntry* Container::find(const std::string& name) const {
  const auto found = tensors().find(name);
  return found == tensors().end() ? nullptr : &found->second;
}

}  // namespace headspan::checkpoint
