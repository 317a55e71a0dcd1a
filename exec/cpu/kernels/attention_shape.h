// What attention kernels, fused or not, are told of one block: queries against keys, who sees whom, and where
// they lie.
#pragma once
#include <cstdint>

namespace tandem::cpu {

enum class Mask : std::uint8_t {
  Causal,  // a query sees keys up to its own position
  Full
};

struct AttentionShape {
  std::int64_t batch = 1, heads = 1,
               kv_heads = 1;  // heads = a multiple of kv_heads; head h reads kv head h / ratio
  std::int64_t q_length = 0, kv_length = 0, qk_head_dim = 0, v_head_dim = 0;
  float scale = 1;
  Mask mask = Mask::Causal;
  // A query sees only positions less than `window` away from its own (itself counts as one of them); 0: all.
  std::int64_t window = 0;
  // Positions in the whole sequence, [q_length] and [kv_length], the same for each sequence; null: 0, 1, 2, …
  const std::int32_t* q_positions = nullptr;
  const std::int32_t* kv_positions = nullptr;
};

// Element d of head h in row i of sequence b lies at data[b batch_stride + i row_stride + h head_dim + d].
template <class T>
struct Heads {
  T* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0;
};

// T5's relative position bias, added to the scaled scores: table [buckets, heads] of this rank's heads, chosen
// by the distance from query to key. As in Mesh TensorFlow: near distances have buckets of their own, far ones
// share them logarithmically up to max_distance.
struct RelativeBias {
  const float* table = nullptr;  // null: no bias
  std::int64_t buckets = 0;
  bool bidirectional = true;  // keys after the query have the upper half of the buckets
  std::int64_t max_distance = 128;
  float* gradient = nullptr;  // [buckets, heads], added to in backward; null: not wanted
};

}  // namespace tandem::cpu
