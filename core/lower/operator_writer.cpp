// Forward tasks, operator by operator: what tensor, sequence, context and expert parallelism put around the
// kernels.
#include "core/lower/operator_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem {

std::string ChunkContext::label(OperatorId op, std::string_view suffix) const {
  const Operator& o = model[op];
  const std::string& layer = model[o.layer].name;
  return suffix.empty() ? fmt::format("{}.{}", layer, o.name) : fmt::format("{}.{}.{}", layer, o.name, suffix);
}

bool reads_whole_tokens(const Shard& shard, const Operator& reader, const Tensor& tensor) {
  if (shard.tp() == 1 || tensor.layout != Layout::Sequence || reader.per_sequence) return false;
  const bool split = reader.split == Split::Column || reader.split == Split::Heads ||
                     (reader.split == Split::Vocabulary && std::holds_alternative<Linear>(reader.kind));
  return split;
}

bool ChunkContext::pipelines_tensor_communication(const Operator& op) const {
  return spec().tp_comm_overlap && shard.sequence_parallel() && std::holds_alternative<Linear>(op.kind) &&
         (op.split == Split::Column || op.split == Split::Row);
}

Bytes tensor_collective_bytes(const Operator& op, const Shard& shard, std::int64_t width) {
  return Bytes(static_cast<double>(shard.gathered_rows(op)) * static_cast<double>(width) *
               shard.element_bytes());
}

bool ChunkContext::crosses_into_split(const Operator& reader, const Tensor& tensor) const {
  return reads_whole_tokens(shard, reader, tensor);
}

LabelId ChunkContext::task_label(OperatorId op, Part part) const {
  return interner.label(label(op, name(part)), {.part = part, .op = op});
}

OperatorWriter::OperatorWriter(const ChunkContext& context, BodyWriter& writer, Phase phase)
    : context_(context),
      writer_(writer),
      phase_(phase),
      ready_(context.model.tensors().size(), no_task),
      last_read_(context.model.tensors().size(), no_task) {
  if (phase != Phase::Forward) return;  // recomputation finds what arrived still there
  for (TensorId input : context.inputs) ready_[input.value] = from_neighbour;
}

std::uint32_t OperatorWriter::collective(OperatorId op, Part part, Lane lane, CollectiveKind kind, Axis axis,
                                         Bytes size, std::vector<std::uint32_t> deps) {
  const std::uint32_t task = writer_.add(context_.task_label(op, part), lane, phase_,
                                         Collective{kind, axis, size, Algorithm::Auto}, std::move(deps));
  first_ = std::min(first_, task);
  return task;
}

std::uint32_t OperatorWriter::kernels(OperatorId op, const std::vector<Kernel>& list,
                                      std::vector<std::uint32_t> deps) {
  std::uint32_t last = no_task;
  for (const Kernel& kernel : list) {
    last = writer_.add(context_.task_label(op, kernel.part), Lane::Compute, phase_, kernel.compute,
                       std::move(deps));
    first_ = std::min(first_, last);
    deps.clear();  // the rest follow on the lane
  }
  // An operator without kernels (a residual without dropout backwards, say) is done when its inputs are.
  if (last == no_task && !deps.empty()) last = *std::max_element(deps.begin(), deps.end());
  return last;
}

std::uint32_t OperatorWriter::gather(TensorId tensor) {
  for (WholeForm& gathered : gathered_) {
    if (gathered.tensor == tensor) return gathered.take;
  }
  const Tensor& t = context_.model[tensor];
  const Operator& producer = context_.model[t.producer];
  const std::uint32_t task =
      collective(t.producer, Part::AllGather, Lane::Tensor, CollectiveKind::AllGather, Axis::Tensor,
                 tensor_collective_bytes(producer, context_.shard, t.width), {ready_[tensor.value]});
  gathered_.push_back({tensor, task, no_task});
  return task;
}

void OperatorWriter::finish(OperatorId op, std::uint32_t last) {
  ready_[context_.model.output(op).value] = last;
  if (last == no_task || last == from_neighbour) return;
  for (TensorId input : context_.model.inputs(op)) {
    last_read_[input.value] = last;
    for (WholeForm& gathered : gathered_) {
      if (gathered.tensor == input) gathered.last_use = last;
    }
  }
}

// The gathered input arrives in tp pieces round the ring; each piece is multiplied while the next one travels.
void OperatorWriter::product_with_gather(OperatorId op, TensorId input) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  const Tensor& t = context_.model[input];
  const std::int64_t pieces = shard.tp();
  const Bytes piece =
      tensor_collective_bytes(context_.model[t.producer], shard, t.width) / static_cast<double>(pieces);
  std::uint32_t arrived = ready_[input.value], last = no_task;
  const std::uint32_t start = writer_.size();
  for (std::int64_t i = 0; i < pieces; ++i) {
    std::vector<Kernel> list = forward_kernels(o, shard, phase_);
    for (Kernel& kernel : list) kernel.compute = piece_of(kernel.compute, pieces);
    last = kernels(op, list, {arrived});
    if (i + 1 < pieces) {
      arrived = collective(op, Part::RingGather, Lane::Tensor, CollectiveKind::Shift, Axis::Tensor, piece,
                           {ready_[input.value]});
    }
  }
  gathered_.push_back({input, start, last});
  finish(op, last);
}

// The product is made in tp pieces; each travels round the ring and is summed while the next one is multiplied.
void OperatorWriter::product_with_scatter(OperatorId op) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  const std::int64_t pieces = shard.tp();
  const Bytes piece =
      tensor_collective_bytes(o, shard, std::get<Linear>(o.kind).out) / static_cast<double>(pieces);
  std::vector<std::uint32_t> deps;
  for (TensorId input : context_.model.inputs(op)) deps.push_back(ready_[input.value]);
  std::uint32_t last = no_task;
  for (std::int64_t i = 0; i < pieces; ++i) {
    std::vector<Kernel> list = forward_kernels(o, shard, phase_);
    for (Kernel& kernel : list) kernel.compute = piece_of(kernel.compute, pieces);
    const std::uint32_t made = kernels(op, list, i == 0 ? deps : std::vector<std::uint32_t>{});
    last = i + 1 < pieces
               ? collective(op, Part::RingScatter, Lane::Tensor, CollectiveKind::Shift, Axis::Tensor, piece,
                            {made})
               : writer_.add(context_.task_label(op, Part::Sum), Lane::Compute, phase_,
                             memory_pass(PassKind::Residual, phase_, piece.value / shard.element_bytes(),
                                         3 * shard.element_bytes()),
                             {made, last});
  }
  finish(op, last);
}

void OperatorWriter::write(OperatorId op) {
  const Operator& o = context_.model[op];
  const Shard& shard = context_.shard;
  first_ = no_task;
  std::vector<std::uint32_t> deps;
  const std::vector<TensorId> inputs = context_.model.inputs(op);
  for (TensorId input : inputs) {
    const bool crosses = context_.crosses_into_split(o, context_.model[input]);
    if (crosses && context_.pipelines_tensor_communication(o)) return product_with_gather(op, input);
    deps.push_back(crosses && shard.sequence_parallel() ? gather(input) : ready_[input.value]);
  }
  if (const auto* a = std::get_if<Attention>(&o.kind)) return attention(op, *a, std::move(deps));
  if (const auto* d = std::get_if<Dispatch>(&o.kind)) return dispatch(op, *d, std::move(deps));
  if (const auto* c = std::get_if<Combine>(&o.kind)) return combine(op, *c, std::move(deps));
  const bool sums =
      shard.tp() > 1 &&
      (o.split == Split::Row || (o.split == Split::Vocabulary && std::holds_alternative<Embedding>(o.kind)));
  if (sums && context_.pipelines_tensor_communication(o)) return product_with_scatter(op);

  std::uint32_t last = kernels(op, forward_kernels(o, shard, phase_), std::move(deps));
  if (sums) {
    const std::int64_t width = context_.model[context_.model.output(op)].width;
    const bool scatter = shard.sequence_parallel();
    const std::uint32_t made = last;
    last = collective(op, scatter ? Part::ReduceScatter : Part::AllReduce, Lane::Tensor,
                      scatter ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, Axis::Tensor,
                      tensor_collective_bytes(o, shard, width), {made});
    if (scatter) partial_sums_.push_back({context_.model.output(op), made, last});
  }
  if (std::holds_alternative<CrossEntropy>(o.kind) && shard.tp() > 1 && o.split == Split::Vocabulary) {
    // Maximum, target logit and sum of exponentials over the vocabulary's shares, fp32, one each a token.
    const Bytes size(static_cast<double>(shard.gathered_rows(o)) * 4);
    for (Part part : {Part::Maximum, Part::Target, Part::ExponentialSum}) {
      last = collective(op, part, Lane::Tensor, CollectiveKind::AllReduce, Axis::Tensor, size, {last});
    }
  }
  finish(op, last);
}

}  // namespace tandem
