#include "checkpoint/absent_layer.h"

#include <string_view>

namespace headspan::checkpoint {
namespace {

constexpr std::string_view kNumber = "{layer}";

std::string first_below(const Container& container, const std::string& start) {
  const auto first = container.tensors().lower_bound(start);
  return first != container.tensors().end() && first->first.starts_with(start) ? first->first : std::string();
}

/// "self_attn." of "self_attn.q_proj.weight"; empty for "q_proj_weight", which has no module of its own.
std::string module_of(const std::string& projection) {
  const std::size_t parameter = projection.rfind('.');
  if (parameter == std::string::npos || parameter == 0) return {};
  const std::size_t module = projection.rfind('.', parameter - 1);
  return module == std::string::npos ? std::string() : projection.substr(0, module + 1);
}

}  // namespace

AbsentLayer absent_layer(const Container& container, const StackNames& stack, int layer) {
  AbsentLayer absent;
  std::string pattern = stack.names->layer;
  const std::size_t mark = pattern.find(kNumber);
  if (mark == std::string::npos) return absent;
  absent.place = stack.prefix + pattern.substr(0, mark) + std::to_string(layer) + ".";
  absent.first_tensor = first_below(container, absent.place);
  const std::string module = module_of(stack.names->fused.empty() ? stack.names->query : stack.names->fused);
  if (absent.first_tensor.empty() || module.empty() || !container.is_whole()) return absent;
  pattern.replace(mark, kNumber.size(), std::to_string(layer));
  absent.is_other_kind = first_below(container, stack.prefix + pattern + module).empty();
  return absent;
}

}  // namespace headspan::checkpoint
