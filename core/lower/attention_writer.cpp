// Attention under context parallelism: ring, all-gather and all-to-all (Ulysses).
#include <algorithm>

#include "core/lower/operator_writer.h"

namespace tandem {

// Each rank of a causal ring holds two blocks of the sequence, one from each end, so that all have equal work
// (Megatron's load balance): its own part is causal, every other part is half of a full block.
std::vector<AttentionBlock> attention_blocks(const Attention& attention, const Shard& shard, Sequence queries) {
  const std::int64_t cp = shard.cp();
  const Sequence keys = attention.cross ? Sequence::Encoder : queries;
  const std::int64_t q = shard.length(queries), k = shard.length(keys);
  AttentionBlock block{.heads = shard.local_heads(attention),
                       .kv_heads = shard.local_kv_heads(attention),
                       .q_length = q,
                       .kv_length = k,
                       .mask = attention.mask};
  if (cp == 1) return {block};
  const bool causal = attention.mask == AttentionMask::Causal;
  switch (shard.plan().spec.cp_comm_type) {
    case ContextCommunication::AllToAll:
      block.heads /= cp;
      block.kv_heads = std::max<std::int64_t>(1, block.kv_heads / cp);
      return {block};
    case ContextCommunication::AllGather:
      block.q_length = q / cp;
      // Two blocks of queries from both ends see (s + s/cp)/2 keys on average; all of them without a mask.
      if (causal) {
        block.mask = AttentionMask::Full;
        block.kv_length = (k + k / cp) / 2;
        block.counted = static_cast<double>(k) / static_cast<double>(block.kv_length);
      }
      return {block};
    case ContextCommunication::RingP2p:
      break;
  }
  std::vector<AttentionBlock> blocks;
  block.q_length = q / cp;
  block.kv_length = k / cp;
  blocks.push_back(block);
  block.mask = AttentionMask::Full;
  if (causal) {
    block.kv_length = std::max<std::int64_t>(1, k / cp / 2);
    block.counted = static_cast<double>(k / cp) / static_cast<double>(block.kv_length);
  }
  for (std::int64_t i = 1; i < cp; ++i) blocks.push_back(block);
  return blocks;
}

Bytes key_value_bytes(const Attention& attention, const Shard& shard) {
  // Cross attention exchanges the encoder's keys; self attention its own sequence's.
  const std::int64_t tokens =
      shard.batch() * shard.length(attention.cross ? Sequence::Encoder : Sequence::Main) / shard.cp();
  return Bytes(static_cast<double>(tokens * shard.local_kv_heads(attention) *
                                   (attention.qk_head_dim + attention.v_head_dim)) *
               shard.element_bytes());
}

Bytes query_key_value_bytes(const Attention& attention, const Shard& shard, Sequence queries) {
  const std::int64_t tokens = shard.batch() * shard.length(queries) / shard.cp();
  return key_value_bytes(attention, shard) +
         Bytes(static_cast<double>(tokens * shard.local_heads(attention) * attention.qk_head_dim) *
               shard.element_bytes());
}

Bytes attention_output_bytes(const Attention& attention, const Shard& shard, Sequence queries) {
  const std::int64_t tokens = shard.batch() * shard.length(queries) / shard.cp();
  return Bytes(static_cast<double>(tokens * shard.local_heads(attention) * attention.v_head_dim) *
               shard.element_bytes());
}

void OperatorWriter::attention(OperatorId op, const Attention& attention, std::vector<std::uint32_t> deps) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  const auto phase = phase_ == Phase::Recompute ? AttentionPhase::Recompute : AttentionPhase::Forward;
  const std::vector<AttentionBlock> blocks = attention_blocks(attention, shard, o.sequence);
  if (shard.cp() == 1)
    return finish(op, kernels(op, attention_kernels(attention, blocks[0], shard, phase), std::move(deps)));

  switch (context_.spec().cp_comm_type) {
    case ContextCommunication::AllToAll: {
      deps = {collective(op, Part::AllToAllQkv, Lane::Context, CollectiveKind::AllToAll, Axis::Context,
                         query_key_value_bytes(attention, shard, o.sequence), std::move(deps))};
      // The kernels' input depends on the exchange alone: on compute work before it through that edge.
      const std::uint32_t last =
          kernels(op, attention_kernels(attention, blocks[0], shard, phase), std::move(deps));
      return finish(op,
                    collective(op, Part::AllToAllOut, Lane::Context, CollectiveKind::AllToAll, Axis::Context,
                               attention_output_bytes(attention, shard, o.sequence), {last}));
    }
    case ContextCommunication::AllGather: {
      const Bytes whole = key_value_bytes(attention, shard) * static_cast<double>(shard.cp());
      deps = {collective(op, Part::AllGatherKv, Lane::Context, CollectiveKind::AllGather, Axis::Context, whole,
                         std::move(deps))};
      return finish(op, kernels(op, attention_kernels(attention, blocks[0], shard, phase), std::move(deps)));
    }
    case ContextCommunication::RingP2p:
      break;
  }
  // Keys and values travel to the next rank while the present ones are used.
  std::uint32_t last = no_task;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::uint32_t arrived = no_task;
    if (i + 1 < blocks.size()) {
      arrived = collective(op, Part::RingKv, Lane::Context, CollectiveKind::Shift, Axis::Context,
                           key_value_bytes(attention, shard), i == 0 ? deps : std::vector<std::uint32_t>{});
    }
    last = kernels(op, attention_kernels(attention, blocks[i], shard, phase), deps);
    deps = {arrived};
  }
  finish(op, last);
}

}  // namespace tandem
