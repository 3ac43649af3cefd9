#pragma once
// Element types by the names safetensors gives them.

#include <string>

#include "headspan/checkpoint/container.h"

namespace headspan::checkpoint {

/// A name safetensors does not define gives a type of 0 bits that is not readable.
Dtype dtype_named(const std::string& name);

/// "F64, F32, F16 and BF16": the types that are read, for messages.
std::string readable_dtypes();

}  // namespace headspan::checkpoint
