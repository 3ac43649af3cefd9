#pragma once
// A checkpoint as named byte ranges, whatever the container.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headspan/numeric/error.h"
#include "headspan/numeric/matrix.h"

namespace headspan::checkpoint {

/// Element types a container may name. Only the first four are read; any other is named and refused per
/// tensor.
struct Dtype {
  std::string name;            ///< as the container writes it: "F32", "BF16", "F8_E4M3" ...
  int bits = 0;                ///< per element; 0 where the name is unknown
  bool readable = false;       ///< F64, F32, F16, BF16
  double unit_roundoff = 0.0;  ///< 2^-53, 2^-24, 2^-11, 2^-8; 0 where not readable
};

/// One tensor: its byte range lies inside its file, and its size agrees with its shape and type.
struct TensorEntry {
  std::string name;
  Dtype dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  ///< from the start of the file
  std::uint64_t bytes = 0;
  int file = 0;  ///< index into Container::files()
  std::int64_t elements() const;
};

/// Shape as printed: "[64, 64]".
std::string shape_text(const std::vector<std::int64_t>& shape);

/// An opened checkpoint. Names are unique. Reading is thread-safe.
class Container {
 public:
  virtual ~Container() = default;
  virtual const std::string& path() const = 0;                ///< as the user gave it
  virtual std::string format() const = 0;                     ///< "safetensors", "safetensors (3 shards)"
  virtual const std::vector<std::string>& files() const = 0;  ///< every file it is made of, the index last
  virtual const std::map<std::string, TensorEntry>& tensors() const = 0;
  virtual const std::map<std::string, std::string>& metadata() const = 0;
  virtual const std::vector<std::string>& notes() const = 0;  ///< oddities met: tensors outside the index ...
  virtual bool is_whole() const { return true; }              ///< false for one shard of several

  /// Rows [first, first+count) of a tensor of two axes or more (all but the first flattened), widened to
  /// double into `out` [count, cols]; of a 1-D tensor, entries [first, first+count) into `out` [1, count]; a
  /// scalar is a 1-D tensor of one entry. Streams through a buffer of at most 4 MiB. Throws ArgumentError for
  /// rows or an `out` of the wrong size, CheckpointError naming the tensor: unsupported (dtype), truncated or
  /// refused (the file changed since it was opened), unreadable.
  virtual void read_rows(const TensorEntry& tensor, std::int64_t first, std::int64_t count,
                         MatrixSpan out) const = 0;

  /// nullptr where there is none of that name.
  const TensorEntry* find(const std::string& name) const;
};

/// Opens a .safetensors file, a *.safetensors.index.json, or a directory holding either. Sniffs before it
/// parses: git-LFS pointers, HTML, zip/pickle and GGUF under the wrong name are named as what they are.
/// In a directory: model.safetensors, else model.safetensors.index.json, else the only
/// *.safetensors.index.json, else the only *.safetensors; refused where two of them could be meant, except
/// that a model.safetensors beside an index with missing shards is used, with a note. Throws CheckpointError.
/// Cost: headers only, in time and in memory.
std::unique_ptr<Container> open_container(const std::string& path);

}  // namespace headspan::checkpoint
