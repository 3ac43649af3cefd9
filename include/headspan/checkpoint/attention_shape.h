#pragma once
// What a configuration alone says of a model's attention, without its weights.

#include <string>

#include "headspan/checkpoint/model.h"

namespace headspan::checkpoint {

/// Counts of the self-attention of one model, each with where it comes from.
struct AttentionShape {
  std::string path, model_type;
  std::string layout;  ///< row whose class defaults hold; empty where none knows the model_type
  Sourced d_model, n_layers, n_heads, n_kv_heads, head_dim;
  Sourced n_stored_layers;  ///< blocks of weights: fewer than layers where the family shares them
};

/// The counts in the configuration file `path`: what it states, else the class defaults of its model_type,
/// else n_kv_heads = n_heads and head_dim = d_model / n_heads. Throws CheckpointError naming the key for a
/// file that cannot be read, impossible values, a count that is neither stated nor a default, heads that do
/// not divide d_model where no head_dim is stated, and key heads that do not divide the heads.
AttentionShape read_attention_shape(const std::string& path);

}  // namespace headspan::checkpoint
