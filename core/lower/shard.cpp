// Token and width arithmetic of tensor, sequence, context and expert parallelism.
#include "core/lower/shard.h"

#include <algorithm>

#include "core/problem/problem.h"

namespace tandem {

Shard::Shard(const ModelGraph& model, const Plan& plan)
    : plan_(plan),
      tp_(plan.mesh.shape().tp),
      cp_(plan.mesh.shape().cp),
      ep_(plan.mesh.shape().ep),
      etp_(plan.mesh.shape().etp),
      sequence_parallel_(plan.spec.sequence_parallel && plan.mesh.shape().tp > 1),
      element_bytes_(bytes_per_element(tensor_dtype())),
      shared_kv_width_(model.layers().size(), 0) {
  for (std::uint32_t i = 0; i < model.size(); ++i) {
    const Operator& op = model[OperatorId(i)];
    const auto* attention = std::get_if<Attention>(&op.kind);
    if (!attention || attention->cross || attention->kv_heads >= tp_) continue;
    shared_kv_width_[op.layer.value] =
        attention->heads / tp_ * attention->qk_head_dim + attention->qk_head_dim + attention->v_head_dim;
  }
}

std::int64_t Shard::column_width(const Operator& op, std::int64_t out) const {
  const std::int64_t shared = shared_kv_width_[op.layer.value];
  return shared > 0 && op.name == "attention.qkv" ? shared : out / tp_;
}

std::int64_t Shard::length(Sequence sequence) const {
  return sequence == Sequence::Encoder ? plan_.tokens.encoder : plan_.tokens.main;
}

std::int64_t Shard::gathered_rows(const Operator& op) const {
  if (op.per_sequence) return batch();
  return batch() * length(op.sequence) / cp_;
}

std::int64_t Shard::sequence_rows(const Operator& op) const {
  if (op.per_sequence || !sequence_parallel_) return gathered_rows(op);
  return (gathered_rows(op) + tp_ - 1) / tp_;
}

std::int64_t Shard::expert_rows(const Operator& op, std::int64_t top_k) const {
  return sequence_rows(op) * top_k * etp_;
}

std::int64_t Shard::kernel_rows(const Operator& op) const {
  if (const auto* product = std::get_if<ExpertLinear>(&op.kind)) return expert_rows(op, product->top_k);
  if (const auto* activation = std::get_if<ExpertActivation>(&op.kind))
    return expert_rows(op, activation->top_k);
  switch (op.split) {
    case Split::None:
      return sequence_rows(op);
    case Split::Expert:
      return sequence_rows(op);  // routers, dispatch and combine work on the rank's own tokens
    case Split::Column:
    case Split::Row:
    case Split::Heads:
    case Split::Vocabulary:
      return gathered_rows(op);
  }
  return gathered_rows(op);
}

std::int64_t Shard::local_kv_heads(const Attention& a) const {
  return std::max<std::int64_t>(1, a.kv_heads / tp_);
}

std::int64_t Shard::local_width(const Operator& op, std::int64_t width) const {
  switch (op.split) {
    case Split::Column:
      return column_width(op, width);
    case Split::Heads:
      return width / tp_;
    case Split::Vocabulary:
      return std::holds_alternative<Embedding>(op.kind) ? width : plan_.padded_vocabulary / tp_;
    case Split::Expert:
      return std::holds_alternative<ExpertLinear>(op.kind) || std::holds_alternative<ExpertActivation>(op.kind)
                 ? width / etp_
                 : width;
    case Split::None:
    case Split::Row:
      return width;
  }
  return width;
}

std::int64_t Shard::tensor_rows(const ModelGraph& model, const Tensor& tensor) const {
  const Operator& op = model[tensor.producer];
  switch (tensor.layout) {
    case Layout::Sequence:
      return sequence_rows(op);
    case Layout::Width:
      return gathered_rows(op);
    case Layout::Expert: {
      std::int64_t top_k = 1;
      if (const auto* dispatch = std::get_if<Dispatch>(&op.kind)) top_k = dispatch->top_k;
      if (const auto* product = std::get_if<ExpertLinear>(&op.kind)) top_k = product->top_k;
      if (const auto* activation = std::get_if<ExpertActivation>(&op.kind)) top_k = activation->top_k;
      return expert_rows(op, top_k);
    }
  }
  return 0;
}

Bytes Shard::tensor_bytes(const ModelGraph& model, const Tensor& tensor) const {
  const Operator& op = model[tensor.producer];
  double width = static_cast<double>(tensor.width);
  if (tensor.layout == Layout::Width) {
    width = op.split == Split::Vocabulary
                ? static_cast<double>(plan_.padded_vocabulary) / static_cast<double>(tp_)
            : op.split == Split::Column ? static_cast<double>(column_width(op, tensor.width))
                                        : width / static_cast<double>(tp_);
  }
  // Inside experts only the split width (between the two products) is divided over etp.
  if (tensor.layout == Layout::Expert && !std::holds_alternative<Dispatch>(op.kind)) {
    const auto* product = std::get_if<ExpertLinear>(&op.kind);
    const bool row_product = product && op.name.ends_with("down");
    if (!row_product) width /= static_cast<double>(etp_);
  }
  return Bytes(static_cast<double>(tensor_rows(model, tensor)) * width * element_bytes_);
}

Bytes Shard::mask_bytes(const ModelGraph& model, const Tensor& tensor) const {
  double width = static_cast<double>(tensor.mask_bytes);
  if (tensor.layout == Layout::Width) width /= static_cast<double>(tp_);
  return Bytes(static_cast<double>(tensor_rows(model, tensor)) * width);
}

Bytes Shard::gathered_bytes(const ModelGraph& model, const Tensor& tensor) const {
  const Operator& op = model[tensor.producer];
  return Bytes(static_cast<double>(gathered_rows(op)) * static_cast<double>(tensor.width) * element_bytes_);
}

std::int64_t Shard::replicated_parameters(const Operator& op) const {
  std::int64_t count = 0;
  for (const Parameter& parameter : op.parameters) {
    if (!parameter.split) count += parameter.count;
  }
  return count;
}

std::int64_t Shard::local_parameters(const Operator& op) const {
  std::int64_t count = 0;
  for (const Parameter& parameter : op.parameters) {
    if (!parameter.split) {
      count += parameter.count;
    } else if (op.split == Split::Expert) {
      count += parameter.count / (ep_ * etp_);
    } else if (op.split == Split::Vocabulary) {
      const auto* table = std::get_if<Embedding>(&op.kind);
      const auto* logits = std::get_if<Linear>(&op.kind);
      const std::int64_t rows = table ? table->rows : logits ? logits->out : 1;
      count += parameter.count / rows * plan_.padded_vocabulary / tp_;
    } else {
      const auto* product = std::get_if<Linear>(&op.kind);
      count += product && op.split == Split::Column
                   ? parameter.count / product->out * column_width(op, product->out)
                   : parameter.count / tp_;
    }
  }
  return count;
}

}  // namespace tandem
