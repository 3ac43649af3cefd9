#pragma once
// Tensors written as one safetensors file.

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headspan::checkpoint {

/// One tensor to be written.
struct TensorBytes {
  std::string name;
  std::string dtype;  ///< as the container writes it: "F64", "F32" ...
  std::vector<std::int64_t> shape;
  std::string_view bytes;  ///< row-major, little-endian
};

/// Writes header and data in the order given, the header padded with spaces so that data begins at a multiple
/// of 8 bytes. The bytes depend on the arguments alone. Throws ArgumentError for a name that is empty, there
/// twice or "__metadata__", a dtype that open_container() does not read, a shape that does not take the bytes
/// given, and text that is not UTF-8.
void write_safetensors(std::ostream& out, const std::vector<TensorBytes>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace headspan::checkpoint
