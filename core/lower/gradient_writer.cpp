// Backward tasks, operator by operator, in reverse.
#include "core/lower/gradient_writer.h"

#include <algorithm>

namespace tandem {

GradientWriter::GradientWriter(const ChunkContext& context, const Retention& retention, const KeptIndex& kept,
                               BodyWriter& writer, BackwardMode mode)
    : context_(context),
      retention_(retention),
      kept_(kept),
      writer_(writer),
      mode_(mode),
      recomputed_(context, writer, Phase::Recompute),
      gradients_(context.model.tensors().size()),
      last_use_(context.model.tensors().size(), no_task),
      attention_use_(context.model.size(), no_task),
      kept_remade_(context.model.tensors().size(), no_task),
      group_done_(retention.groups().size(), false) {}

bool GradientWriter::is_border_output(TensorId t) const {
  return std::find(context_.outputs.begin(), context_.outputs.end(), t) != context_.outputs.end();
}
bool GradientWriter::is_border_input(TensorId t) const {
  return std::find(context_.inputs.begin(), context_.inputs.end(), t) != context_.inputs.end();
}

std::uint32_t GradientWriter::collective(OperatorId op, Part part, Lane lane, CollectiveKind kind, Axis axis,
                                         Bytes size, Phase phase, Tasks deps) {
  return writer_.add(context_.task_label(op, part), lane, phase, Collective{kind, axis, size, Algorithm::Auto},
                     std::move(deps));
}

std::uint32_t GradientWriter::kernels(OperatorId op, const std::vector<Kernel>& list, Tasks deps) {
  std::uint32_t last = no_task;
  for (const Kernel& kernel : list) {
    last = writer_.add(context_.task_label(op, kernel.part), Lane::Compute, kernel.compute.phase,
                       kernel.compute, std::move(deps));
    deps.clear();
  }
  return last;
}

void GradientWriter::use(TensorId tensor, std::uint32_t task) {
  if (task != no_task) last_use_[tensor.value] = task;
}

void GradientWriter::recompute_before(OperatorId op) {
  for (std::size_t g = 0; g < retention_.groups().size(); ++g) {
    const RecomputeGroup& group = retention_.groups()[g];
    if (group_done_[g] || group.trigger != op) continue;
    group_done_[g] = true;
    for (OperatorId again : group.operators) {
      const std::uint32_t begin = writer_.size();
      recomputed_.write(again);
      const std::uint32_t first = recomputed_.first_task() == no_task ? begin : recomputed_.first_task();
      if (writer_.size() > begin) remade_.push_back({context_.model.output(again), first});
      for (TensorId input : context_.model.inputs(again)) {
        if (!writer_.empty()) use(input, writer_.last());
      }
    }
  }
}

GradientWriter::Tasks GradientWriter::gradient_of(TensorId tensor) {
  Gradient& gradient = gradients_[tensor.value];
  if (gradient.contributions <= 1) return gradient.tasks;
  const Tensor& t = context_.model[tensor];
  const double e = context_.shard.element_bytes();
  const double elements = context_.shard.tensor_bytes(context_.model, t).value / e;
  for (std::uint32_t i = 1; i < gradient.contributions; ++i) {
    gradient.tasks = {
        writer_.add(context_.task_label(t.producer, Part::GradientSum), Lane::Compute, Phase::InputGradient,
                    memory_pass(PassKind::Residual, Phase::InputGradient, elements, 3 * e), gradient.tasks)};
  }
  gradient.contributions = 1;
  return gradient.tasks;
}

void GradientWriter::contribute(TensorId tensor, const Tasks& tasks) {
  Gradient& gradient = gradients_[tensor.value];
  if (gradient.contributions == 0) {
    for (std::uint32_t task : tasks) {
      if (task < from_neighbour) gradient.take = std::min(gradient.take, task);
    }
  }
  gradient.tasks.insert(gradient.tasks.end(), tasks.begin(), tasks.end());
  ++gradient.contributions;
}

void GradientWriter::expect_from_neighbour(TensorId tensor) {
  gradients_[tensor.value].tasks.push_back(from_neighbour);
  ++gradients_[tensor.value].contributions;
}

bool GradientWriter::needs_whole_gradient(const Operator& op) const {
  if (!context_.shard.sequence_parallel() || op.per_sequence) return false;
  return op.split == Split::Row ||
         (op.split == Split::Vocabulary && std::holds_alternative<Embedding>(op.kind));
}

// Under sequence parallelism a row-split product's output gradient arrives in shares of the sequence.
GradientWriter::Tasks GradientWriter::whole_gradient(OperatorId op, TensorId output, Tasks deps) {
  if (!needs_whole_gradient(context_.model[op])) return deps;
  Gradient& gradient = gradients_[output.value];
  if (gradient.gathered == no_task) {
    gradient.gathered =
        collective(op, Part::GradientAllGather, Lane::Tensor, CollectiveKind::AllGather, Axis::Tensor,
                   tensor_collective_bytes(context_.model[op], context_.shard, context_.model[output].width),
                   Phase::InputGradient, std::move(deps));
  }
  return {gradient.gathered};
}

void GradientWriter::write(OperatorId op) {
  const TensorId output = context_.model.output(op);
  if (mode_ == BackwardMode::WeightGradient) {
    weight_gradient(op, {});
    return;
  }
  Gradient& gradient = gradients_[output.value];
  if (is_border_output(output)) expect_from_neighbour(output);
  const bool starts = std::holds_alternative<CrossEntropy>(context_.model[op].kind) ||
                      (gradient.contributions == 0 && context_.model.consumers(output).empty());
  if (!starts && gradient.contributions == 0) return;  // nothing downstream asks for it
  recompute_before(op);
  input_gradient(op);
}

void GradientWriter::input_gradient(OperatorId op) {
  const Operator& o = context_.model[op];
  const TensorId output = context_.model.output(op);
  const std::uint32_t begin = writer_.size();
  Tasks deps = whole_gradient(op, output, gradient_of(output));

  // The input in whole-token form for the weight gradient travels while the input gradient is computed.
  Tasks weight_deps = deps;
  if (mode_ == BackwardMode::Both) gather_inputs(op, deps, weight_deps);

  Tasks done;
  if (const auto* a = std::get_if<Attention>(&o.kind))
    done = {attention(op, *a, deps)};
  else if (const auto* d = std::get_if<Dispatch>(&o.kind))
    done = {dispatch(op, *d, deps)};
  else if (const auto* c = std::get_if<Combine>(&o.kind))
    done = {combine(op, *c, deps)};
  else {
    const std::uint32_t last = kernels(op, input_gradient_kernels(o, context_.shard), deps);
    done = last == no_task ? deps : Tasks{last};
  }
  const std::uint32_t last = writer_.empty() ? no_task : writer_.last();
  if (writer_.size() > begin) {
    gradients_[output.value].last_use = last;
    if (backward_reads_inputs(o))
      for (TensorId input : context_.model.inputs(op)) use(input, last);
    if (backward_reads_output(o) || context_.model[output].mask_bytes > 0) use(output, last);
    if (std::holds_alternative<Attention>(o.kind)) attention_use_[op.value] = last;
  }
  // Norm weights and biases come with the input gradient's kernels.
  if (!o.parameters.empty() && !weight_gradient_reads_input(o) && !std::holds_alternative<Embedding>(o.kind) &&
      mode_ == BackwardMode::Both && last != no_task) {
    writer_.body().gradients_ready.push_back({last, op});
  }
  pass_on(op, done);
  if (mode_ == BackwardMode::Both) weight_gradient(op, weight_deps);
}

void GradientWriter::hand_back() {
  if (mode_ == BackwardMode::WeightGradient) return;
  for (TensorId input : context_.inputs) {
    if (is_border_output(input)) expect_from_neighbour(input);  // it only passes through
    for (std::uint32_t task : gradient_of(input)) {
      if (task < from_neighbour) writer_.body().output_ready.push_back(task);
    }
  }
}

// Hands the gradient to the operator's inputs, summed over tp where a split operator read a whole tensor.
void GradientWriter::pass_on(OperatorId op, Tasks done) {
  const Operator& o = context_.model[op];
  const std::vector<TensorId> inputs = context_.model.inputs(op);
  const TensorId output = context_.model.output(op);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = context_.model[inputs[i]];
    const bool inside = context_.contains(t.producer) || is_border_input(inputs[i]);
    if (!inside) continue;
    Tasks tasks = done;
    // A residual's stream input gets the gradient as it came, before dropout.
    if (std::holds_alternative<Residual>(o.kind) && i == 0) tasks = gradients_[output.value].tasks;
    if (context_.crosses_into_split(o, t)) {
      const bool scatter = context_.shard.sequence_parallel();
      tasks = {collective(op, scatter ? Part::GradientReduceScatter : Part::GradientAllReduce, Lane::Tensor,
                          scatter ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, Axis::Tensor,
                          tensor_collective_bytes(context_.model[t.producer], context_.shard, t.width),
                          Phase::InputGradient, done)};
      if (scatter && !done.empty() && done.front() < from_neighbour)
        partial_sums_.push_back({inputs[i], done.front(), tasks.front()});
    }
    contribute(inputs[i], tasks);
  }
}

void GradientWriter::gather_inputs(OperatorId op, const Tasks& after, Tasks& weight_deps) {
  const Operator& o = context_.model[op];
  if (!context_.shard.sequence_parallel() || !weight_gradient_reads_input(o)) return;
  for (TensorId input : context_.model.inputs(op)) {
    const Tensor& t = context_.model[input];
    if (!context_.crosses_into_split(o, t)) continue;
    Tasks there = after;
    there.push_back(recomputed_.ready(input));  // where it was made again
    const std::uint32_t gather =
        collective(op, Part::InputAllGather, Lane::Tensor, CollectiveKind::AllGather, Axis::Tensor,
                   tensor_collective_bytes(context_.model[t.producer], context_.shard, t.width),
                   Phase::WeightGradient, std::move(there));
    weight_deps.push_back(gather);
    use(input, gather);
    gathered_inputs_.push_back({input, gather, no_task});
  }
}

void GradientWriter::weight_gradient(OperatorId op, Tasks deps) {
  const Operator& o = context_.model[op];
  const std::vector<Kernel> list = weight_gradient_kernels(o, context_.shard);
  const TensorId output = context_.model.output(op);
  if (list.empty()) {
    // Norm weights came with the input gradient; the body's first task is the earliest to say so.
    if (mode_ == BackwardMode::WeightGradient && !o.parameters.empty()) {
      writer_.body().gradients_ready.push_back({writer_.empty() ? 0 : writer_.last(), op});
    }
    return;
  }
  if (mode_ == BackwardMode::WeightGradient) gather_inputs(op, {}, deps);
  const std::uint32_t last = kernels(op, list, std::move(deps));
  gradients_[output.value].last_use = last;
  for (TensorId input : context_.model.inputs(op)) {
    if (weight_gradient_reads_input(o)) use(input, last);
    for (WholeForm& whole : gathered_inputs_) {
      if (whole.tensor == input && whole.last_use == no_task) whole.last_use = last;
    }
  }
  writer_.body().gradients_ready.push_back({last, op});
}

}  // namespace tandem
