// Backward tasks of the operators that exchange data themselves: attention under context parallelism, routed
// tokens.
#include <algorithm>

#include "core/lower/gradient_writer.h"

namespace tandem {

std::uint32_t GradientWriter::attention(OperatorId op, const Attention& attention, Tasks deps) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  const Phase phase = Phase::InputGradient;
  const std::vector<AttentionBlock> blocks = attention_blocks(attention, shard, o.sequence);
  const auto block_kernels = [&](std::size_t i) {
    return attention_kernels(attention, blocks[i], shard, AttentionPhase::Backward);
  };
  if (shard.cp() == 1) return kernels(op, block_kernels(0), std::move(deps));

  const Bytes kv = key_value_bytes(attention, shard);
  switch (context_.spec().cp_comm_type) {
    case ContextCommunication::AllToAll: {
      deps = {collective(op, Part::GradientAllToAllOut, Lane::Context, CollectiveKind::AllToAll, Axis::Context,
                         attention_output_bytes(attention, shard, o.sequence), phase, std::move(deps))};
      const std::uint32_t last = kernels(op, block_kernels(0), std::move(deps));
      return collective(op, Part::GradientAllToAllQkv, Lane::Context, CollectiveKind::AllToAll, Axis::Context,
                        query_key_value_bytes(attention, shard, o.sequence), phase, {last});
    }
    case ContextCommunication::AllGather: {
      const Bytes whole = kv * static_cast<double>(shard.cp());
      const std::uint32_t gather = collective(op, Part::GradientAllGatherKv, Lane::Context,
                                              CollectiveKind::AllGather, Axis::Context, whole, phase, deps);
      deps.push_back(gather);
      const std::uint32_t last = kernels(op, block_kernels(0), std::move(deps));
      return collective(op, Part::GradientReduceScatterKv, Lane::Context, CollectiveKind::ReduceScatter,
                        Axis::Context, whole, phase, {last});
    }
    case ContextCommunication::RingP2p:
      break;
  }
  // Keys and values go round again; their gradients follow one step behind and end where they belong.
  std::uint32_t last = no_task, sent = no_task;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::uint32_t arrived = no_task;
    if (i + 1 < blocks.size()) {
      arrived = collective(op, Part::GradientRingKv, Lane::Context, CollectiveKind::Shift, Axis::Context, kv,
                           phase, i == 0 ? deps : Tasks{});
    }
    last = kernels(op, block_kernels(i), deps);
    sent = collective(op, Part::GradientRingDkv, Lane::Context, CollectiveKind::Shift, Axis::Context, kv, phase,
                      {last});
    deps = {arrived};
  }
  return sent;
}

std::uint32_t GradientWriter::dispatch(OperatorId op, const Dispatch& dispatch, Tasks deps) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  const Bytes sent = dispatch_bytes(o, shard, dispatch.width, dispatch.top_k);
  if (shard.etp() > 1) {
    deps = {collective(op, Part::GradientReduceScatter, Lane::Expert, CollectiveKind::ReduceScatter,
                       Axis::ExpertTensor, sent * static_cast<double>(shard.etp()), Phase::InputGradient,
                       std::move(deps))};
  }
  if (shard.ep() > 1) {
    deps = {collective(op, Part::GradientAllToAll, Lane::Expert, CollectiveKind::AllToAll, Axis::Expert, sent,
                       Phase::InputGradient, std::move(deps))};
  }
  return kernels(op, input_gradient_kernels(o, shard), std::move(deps));
}

std::uint32_t GradientWriter::combine(OperatorId op, const Combine& combine, Tasks deps) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  const Bytes sent = dispatch_bytes(o, shard, combine.width, combine.top_k);
  std::uint32_t last = kernels(op, input_gradient_kernels(o, shard), std::move(deps));
  if (shard.ep() > 1) {
    last = collective(op, Part::GradientAllToAll, Lane::Expert, CollectiveKind::AllToAll, Axis::Expert, sent,
                      Phase::InputGradient, {last});
  }
  if (shard.etp() > 1) {
    last = collective(op, Part::GradientAllGather, Lane::Expert, CollectiveKind::AllGather, Axis::ExpertTensor,
                      sent * static_cast<double>(shard.etp()), Phase::InputGradient, {last});
  }
  return last;
}

}  // namespace tandem
