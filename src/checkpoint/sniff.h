#pragma once
// What a file is by its first bytes, whatever its name.

#include "headspan/numeric/io.h"

namespace headspan::checkpoint {

/// Throws CheckpointError if the file cannot be safetensors, naming what it is instead and what to do: empty,
/// shorter than a header, git-LFS pointer, HTML, JSON, text, zip or pickle (PyTorch), GGUF, HDF5, npy, gzip.
void refuse_other_formats(const InputFile& file);

}  // namespace headspan::checkpoint
