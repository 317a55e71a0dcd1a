// Memory of the backward bodies: what they give back, what they hold for a while, what stays for the weight
// gradient.
#include <algorithm>

#include "core/lower/gradient_writer.h"

namespace tandem {
namespace {

// Some weight gradient that runs later reads the tensor.
bool wanted_by_weight_gradient(const ChunkContext& context, TensorId tensor) {
  for (OperatorId consumer : context.model.consumers(tensor)) {
    if (context.contains(consumer) && weight_gradient_reads_input(context.model[consumer])) return true;
  }
  return false;
}
bool has_late_weight_gradient(const ChunkContext& context, OperatorId op) {
  return !weight_gradient_kernels(context.model[op], context.shard).empty();
}

}  // namespace

void GradientWriter::continue_from(const GradientWriter& inputs) {
  kept_remade_ = inputs.kept_remade_;
  for (std::size_t t = 0; t < gradients_.size(); ++t) gradients_[t].kept = inputs.gradients_[t].kept;
}

void GradientWriter::finish() {
  if (writer_.empty()) return;
  Body& body = writer_.body();
  const ModelGraph& model = context_.model;
  const Shard& shard = context_.shard;
  const std::uint32_t end = writer_.last();
  const auto or_end = [&](std::uint32_t task) { return task == no_task ? end : task; };
  const bool split = mode_ != BackwardMode::Both;
  const bool weights = mode_ == BackwardMode::WeightGradient;

  const auto hold = [&](BufferClass memory_class, Bytes size, std::uint32_t take, std::uint32_t give,
                        const std::string& label) {
    if (take == no_task || size.value <= 0) return;
    body.temporaries.push_back(
        {memory_class, size, take, std::max(take, give), context_.interner.label(label)});
  };
  const auto hold_whole = [&](const std::vector<WholeForm>& forms, std::string_view suffix) {
    for (const WholeForm& whole : forms) {
      const Tensor& tensor = model[whole.tensor];
      hold(BufferClass::Communication, shard.gathered_bytes(model, tensor), whole.take,
           whole.last_use == no_task ? whole.take : whole.last_use, context_.label(tensor.producer, suffix));
    }
  };
  hold_whole(gathered_inputs_, "input_all_gather");

  // What the forward pass left.
  for (std::uint32_t t = 0; t < kept_.tensor.size(); ++t) {
    if (kept_.tensor[t] == no_task) continue;
    const bool late = split && wanted_by_weight_gradient(context_, TensorId(t));
    if (split && late != weights) continue;
    body.releases_forward.push_back({kept_.tensor[t], or_end(last_use_[t])});
  }
  for (std::uint32_t o = 0; o < kept_.attention.size() && !weights; ++o) {
    if (kept_.attention[o] != no_task)
      body.releases_forward.push_back({kept_.attention[o], or_end(attention_use_[o])});
  }
  if (weights) {
    // What the input gradient left: gradients of products' outputs, tensors made again.
    for (std::uint32_t t = 0; t < gradients_.size(); ++t) {
      if (gradients_[t].kept != no_task)
        body.releases_input_gradient.push_back({gradients_[t].kept, or_end(gradients_[t].last_use)});
      if (kept_remade_[t] != no_task)
        body.releases_input_gradient.push_back({kept_remade_[t], or_end(last_use_[t])});
    }
    return;
  }

  const auto keep = [&](Bytes size, std::uint32_t take, const std::string& label) {
    body.kept.push_back({size, take, context_.interner.label(label)});
    return static_cast<std::uint32_t>(body.kept.size() - 1);
  };
  for (std::uint32_t t = 0; t < gradients_.size(); ++t) {
    Gradient& gradient = gradients_[t];
    if (gradient.contributions == 0) continue;
    const Tensor& tensor = model[TensorId(t)];
    const std::uint32_t take = gradient.take == no_task ? 0 : gradient.take;
    const std::string label = context_.label(tensor.producer, "gradient");
    const bool whole = gradient.gathered != no_task;
    if (split && context_.contains(tensor.producer) && has_late_weight_gradient(context_, tensor.producer)) {
      gradient.kept = keep(whole ? shard.gathered_bytes(model, tensor) : shard.tensor_bytes(model, tensor),
                           whole ? gradient.gathered : take, label);
      if (whole)
        hold(BufferClass::Temporary, shard.tensor_bytes(model, tensor), take, gradient.gathered, label);
      continue;
    }
    hold(BufferClass::Temporary, shard.tensor_bytes(model, tensor), take, or_end(gradient.last_use), label);
    if (whole) {
      hold(BufferClass::Communication, shard.gathered_bytes(model, tensor), gradient.gathered,
           or_end(gradient.last_use), label);
    }
  }
  for (const Remade& remade : remade_) {
    const Tensor& tensor = model[remade.tensor];
    // A tensor that was kept is not made a second time; its dropout mask is.
    const Bytes size = (retention_.keeps(remade.tensor) ? Bytes(0) : shard.tensor_bytes(model, tensor)) +
                       shard.mask_bytes(model, tensor);
    const std::string label = context_.label(tensor.producer, "recomputed");
    if (split && size.value > 0 && wanted_by_weight_gradient(context_, remade.tensor)) {
      kept_remade_[remade.tensor.value] = keep(size, remade.take, label);
    } else {
      const std::uint32_t read =
          std::max(recomputed_.last_read(remade.tensor) == no_task ? 0 : recomputed_.last_read(remade.tensor),
                   last_use_[remade.tensor.value] == no_task ? 0 : last_use_[remade.tensor.value]);
      hold(BufferClass::Temporary, size, remade.take, read, label);
    }
  }
  for (const RecomputeGroup& group : retention_.groups()) {
    for (OperatorId op : group.operators) {
      const auto* attention = std::get_if<Attention>(&model[op].kind);
      if (!attention || attention_use_[op.value] == no_task) continue;
      const std::vector<AttentionBlock> blocks = attention_blocks(*attention, shard, model[op].sequence);
      std::uint32_t take = no_task;
      for (const Remade& remade : remade_) {
        if (remade.tensor == model.output(op)) take = remade.take;
      }
      hold(BufferClass::Temporary, attention_state_bytes(*attention, blocks.front(), shard), take,
           attention_use_[op.value], context_.label(op, "state"));
    }
  }
  hold_whole(recomputed_.gathered(), "all_gather");
  hold_whole(recomputed_.partial_sums(), "partial_sum");
  hold_whole(partial_sums_, "gradient_partial_sum");
}

}  // namespace tandem
