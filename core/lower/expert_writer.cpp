// Routed tokens: permutation, all-to-all over ep, gathering over etp, and the way back.
#include "core/lower/operator_writer.h"

namespace tandem {

Bytes dispatch_bytes(const Operator& op, const Shard& shard, std::int64_t width, std::int64_t top_k) {
  return Bytes(static_cast<double>(shard.sequence_rows(op) * top_k) * static_cast<double>(width) *
               shard.element_bytes());
}

void OperatorWriter::dispatch(OperatorId op, const Dispatch& dispatch, std::vector<std::uint32_t> deps) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  const Bytes sent = dispatch_bytes(o, shard, dispatch.width, dispatch.top_k);
  std::uint32_t last = kernels(op, forward_kernels(o, shard, phase_), std::move(deps));
  if (shard.ep() > 1)
    last = collective(op, Part::AllToAll, Lane::Expert, CollectiveKind::AllToAll, Axis::Expert, sent, {last});
  if (shard.etp() > 1) {
    last = collective(op, Part::AllGather, Lane::Expert, CollectiveKind::AllGather, Axis::ExpertTensor,
                      sent * static_cast<double>(shard.etp()), {last});
  }
  finish(op, last);
}

void OperatorWriter::combine(OperatorId op, const Combine& combine, std::vector<std::uint32_t> deps) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  const Bytes sent = dispatch_bytes(o, shard, combine.width, combine.top_k);
  if (shard.etp() > 1) {
    deps = {collective(op, Part::ReduceScatter, Lane::Expert, CollectiveKind::ReduceScatter, Axis::ExpertTensor,
                       sent * static_cast<double>(shard.etp()), std::move(deps))};
  }
  if (shard.ep() > 1) {
    deps = {collective(op, Part::AllToAll, Lane::Expert, CollectiveKind::AllToAll, Axis::Expert, sent,
                       std::move(deps))};
  }
  finish(op, kernels(op, forward_kernels(o, shard, phase_), std::move(deps)));
}

}  // namespace tandem
