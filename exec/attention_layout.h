// Where queries, keys and values of one attention lie in the tensors of a rank, under every form of context
// parallelism.
#pragma once
#include <cstdint>

#include "core/lower/shard.h"

namespace tandem {

// Sizes in elements. Self attention reads one tensor with rows [q heads | k heads | v heads]; cross attention
// reads q from one and [k heads | v heads] from another. Rows are sequences x local tokens.
struct AttentionLayout {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, qk_dim = 0, v_dim = 0;
  std::int64_t q_tokens = 0, kv_tokens = 0;  // of one sequence on this rank
  std::int64_t context_ranks = 1;
  bool cross = false;

  std::int64_t q_width() const { return heads * qk_dim; }
  std::int64_t k_width() const { return kv_heads * qk_dim; }
  std::int64_t kv_width() const { return kv_heads * (qk_dim + v_dim); }
  std::int64_t out_width() const { return heads * v_dim; }
  std::int64_t q_stride() const { return cross ? q_width() : q_width() + kv_width(); }
  std::int64_t kv_stride() const { return cross ? kv_width() : q_width() + kv_width(); }
  std::int64_t kv_offset() const { return cross ? 0 : q_width(); }  // in its tensor's row
  std::int64_t q_rows() const { return batch * q_tokens; }
  std::int64_t kv_rows() const { return batch * kv_tokens; }
  std::size_t kv_input() const { return cross ? 1 : 0; }  // which input holds the keys

  // All tokens for a share of the heads (all-to-all): a region of queries, then one of keys and values.
  AttentionLayout share_of_heads() const {
    AttentionLayout share = *this;
    share.heads /= context_ranks;
    share.kv_heads /= context_ranks;
    share.q_tokens *= context_ranks;
    share.kv_tokens *= context_ranks;
    share.cross = true;
    return share;
  }
};

inline AttentionLayout attention_layout(const Operator& op, const Shard& shard) {
  const auto& attention = std::get<Attention>(op.kind);
  AttentionLayout layout;
  layout.batch = shard.batch();
  layout.heads = shard.local_heads(attention);
  layout.kv_heads = shard.local_kv_heads(attention);
  layout.qk_dim = attention.qk_head_dim;
  layout.v_dim = attention.v_head_dim;
  layout.context_ranks = shard.cp();
  layout.q_tokens = shard.length(op.sequence) / shard.cp();
  layout.kv_tokens = shard.length(attention.cross ? Sequence::Encoder : op.sequence) / shard.cp();
  layout.cross = attention.cross;
  return layout;
}

}  // namespace tandem
