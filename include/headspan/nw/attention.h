#pragma once
// Attention: the Nadaraya-Watson estimate of the dot-product kernel, with everything real models add to it.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "headspan/numeric/matrix.h"

namespace headspan::nw {

/// A read-only view of four-dimensional data, [batch, head, position, width]; strides in elements, 0 where a
/// dimension is repeated. No data: absent.
template <class T>
struct TensorView {
  const T* data = nullptr;
  std::array<Index, 4> shape{};
  std::array<Index, 4> stride{};
  explicit operator bool() const { return data != nullptr; }
  const T* at(Index b, Index h, Index i) const {
    return data + b * stride[0] + h * stride[1] + i * stride[2];
  }
};

/// The same for results.
template <class T>
struct TensorSpan {
  T* data = nullptr;
  std::array<Index, 4> shape{};
  std::array<Index, 4> stride{};
  explicit operator bool() const { return data != nullptr; }
  T* at(Index b, Index h, Index i) const { return data + b * stride[0] + h * stride[1] + i * stride[2]; }
};

/// Points at which the m x n scores may be looked at.
enum class ScoreStage {
  scaled,   ///< q.k * scale
  capped,   ///< after the soft cap
  masked,   ///< after masks and biases: what the softmax takes
  weights,  ///< after the softmax
};

template <class T>
struct AttentionInput {
  TensorView<T> query;  ///< [batch, n_heads, m, head_dim]
  TensorView<T> key;    ///< [batch, n_kv_heads, n, head_dim]; query head h reads h / (n_heads / n_kv_heads)
  TensorView<T> value;  ///< [batch, n_kv_heads, n, value_dim]
  TensorView<T> bias;   ///< [batch, n_heads, m, n] added to the scores; -inf hides a key
  TensorView<unsigned char> visible;  ///< [batch, n_heads, m, n] 0 hides a key
};

struct AttentionOptions {
  std::optional<double> scale;  ///< 1/sqrt(head_dim) unless given; 1/temperature
  double soft_cap = 0.0;        ///< c > 0: scores become c tanh(score / c)
  bool cap_after_mask = false;  ///< the soft cap is applied to scores with masks and biases added, as opset
                                ///< 23 of ONNX has it: a hidden key then keeps the score -c
  bool causal = false;          ///< query i sees keys up to i + query_offset
  Index query_offset = 0;       ///< position of query 0 among the keys: the number of past keys
  Index window_left = -1;       ///< keys from i + query_offset - window_left; -1: no limit
  Index window_right = -1;      ///< keys to i + query_offset + window_right; -1: no limit
  std::vector<Index> n_keys;    ///< [batch] keys beyond are padding; empty: all are keys
  std::vector<double> alibi_slopes;        ///< [n_heads] score -= slope * |i + query_offset - j|; empty: none
  std::vector<double> sinks;               ///< [n_heads] one more score of a key of value 0; empty: none
  ScoreStage stage = ScoreStage::weights;  ///< of AttentionOutput::scores
};

/// Where results go; absent ones are not computed. A query that sees no key has output 0, n_eff 0 and
/// log_normaliser -inf.
template <class T>
struct AttentionOutput {
  TensorSpan<T> output;               ///< [batch, n_heads, m, value_dim]
  TensorSpan<double> log_normaliser;  ///< [batch, n_heads, m, 1] log sum_j exp(score), sink included
  TensorSpan<double>
      n_eff;  ///< [batch, n_heads, m, 1] (sum_j w_j)^2 / sum_j w_j^2, the sum short of 1 by a sink alone
  TensorSpan<T> scores;  ///< [batch, n_heads, m, n] at `stage`; hidden keys: -inf, as weights 0
};

/// output_i = sum_j softmax_j(score_ij) v_j, streamed over the keys in O((m + n) d) memory (scores only when
/// asked for). T is float or double; float16 and bfloat16 are widened by the caller. NaN or infinity at a
/// hidden place does not reach a result; at a visible place they propagate as in the defining formula. Throws
/// ArgumentError on shapes that disagree. Same bits for any number of threads.
template <class T>
void attention(const AttentionInput<T>& input, const AttentionOptions& options,
               const AttentionOutput<T>& output);

extern template void attention(const AttentionInput<float>&, const AttentionOptions&,
                               const AttentionOutput<float>&);
extern template void attention(const AttentionInput<double>&, const AttentionOptions&,
                               const AttentionOutput<double>&);

}  // namespace headspan::nw
