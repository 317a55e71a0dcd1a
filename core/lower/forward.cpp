// The forward body of a chunk: operators in model order, and the memory they leave for the backward pass.
#include <algorithm>

#include "core/lower/chunk.h"
#include "core/lower/operator_writer.h"

namespace tandem {
namespace {

Bytes attention_state(const Operator& op, const Shard& shard) {
  const auto& attention = std::get<Attention>(op.kind);
  const std::vector<AttentionBlock> blocks = attention_blocks(attention, shard, op.sequence);
  if (shard.plan().spec.attention_backend == AttentionBackend::Flash) {
    return attention_state_bytes(attention, blocks.front(), shard);
  }
  Bytes total;
  for (const AttentionBlock& block : blocks) total += attention_state_bytes(attention, block, shard);
  return total;
}

}  // namespace

ForwardBody lower_forward(const ChunkContext& context, const Retention& retention) {
  const ModelGraph& model = context.model;
  ForwardBody result;
  result.kept.tensor.assign(model.tensors().size(), no_task);
  result.kept.attention.assign(model.size(), no_task);
  Body& body = result.body;
  BodyWriter writer(body, context.interner);
  OperatorWriter operators(context, writer, Phase::Forward);

  const auto keep = [&](Bytes size, std::uint32_t take, const std::string& label) {
    body.kept.push_back({size, take, context.interner.label(label)});
    return static_cast<std::uint32_t>(body.kept.size() - 1);
  };
  std::vector<std::uint32_t> made_at(model.tensors().size(), no_task);

  for (std::uint32_t o = context.first.value; o <= context.last.value; ++o) {
    const OperatorId op(o);
    const Operator& oper = model[op];
    const std::uint32_t begin = writer.size();
    if (op == model[oper.layer].first) body.layer_uses.push_back({begin, oper.layer});
    operators.write(op);
    const std::uint32_t first =
        operators.first_task() == no_task ? (begin == 0 ? 0 : begin - 1) : operators.first_task();
    const TensorId output = model.output(op);
    made_at[output.value] = first;
    const Tensor& tensor = model[output];
    if (retention.keeps(output)) {
      result.kept.tensor[output.value] =
          keep(context.shard.tensor_bytes(model, tensor) +
                   (retention.recomputed(output) ? Bytes(0) : context.shard.mask_bytes(model, tensor)),
               first, context.label(op));
    } else if (tensor.mask_bytes > 0 && !retention.recomputed(output)) {
      result.kept.tensor[output.value] =
          keep(context.shard.mask_bytes(model, tensor), first, context.label(op, "mask"));
    }
    if (std::holds_alternative<Attention>(oper.kind) && retention.keeps_attention_state(op)) {
      result.kept.attention[o] = keep(attention_state(oper, context.shard), first, context.label(op, "state"));
    }
  }
  check(!writer.empty(), "a chunk has tasks");

  // What arrives from the neighbouring stage is kept from the body's first task on.
  for (TensorId input : context.inputs) {
    if (!retention.keeps(input)) continue;
    result.kept.tensor[input.value] = keep(context.shard.tensor_bytes(model, model[input]), 0,
                                           context.label(model[input].producer, "received"));
  }
  for (std::uint32_t o = context.first.value; o <= context.last.value; ++o) {
    const TensorId output = model.output(OperatorId(o));
    const bool kept = retention.keeps(output);
    if (kept || made_at[output.value] == no_task) continue;
    const std::uint32_t read = operators.last_read(output);
    const bool leaves =
        std::find(context.outputs.begin(), context.outputs.end(), output) != context.outputs.end();
    const std::uint32_t give = leaves ? writer.last() : read == no_task ? made_at[output.value] : read;
    body.temporaries.push_back({BufferClass::Temporary, context.shard.tensor_bytes(model, model[output]),
                                made_at[output.value], std::max(give, made_at[output.value]),
                                context.interner.label(context.label(OperatorId(o)))});
  }
  for (const auto& [forms, suffix] :
       {std::pair(&operators.gathered(), "all_gather"), std::pair(&operators.partial_sums(), "partial_sum")}) {
    for (const WholeForm& whole : *forms) {
      body.temporaries.push_back({BufferClass::Communication,
                                  context.shard.gathered_bytes(model, model[whole.tensor]), whole.take,
                                  whole.last_use == no_task ? whole.take : whole.last_use,
                                  context.interner.label(context.label(model[whole.tensor].producer, suffix))});
    }
  }
  for (TensorId output : context.outputs) {
    // A tensor that only passes through is ready when it arrives; the step writer knows.
    const std::uint32_t ready = operators.ready(output);
    if (ready < from_neighbour) body.output_ready.push_back(ready);
  }
  if (body.output_ready.empty()) body.output_ready.push_back(writer.last());
  return result;
}

}  // namespace tandem
