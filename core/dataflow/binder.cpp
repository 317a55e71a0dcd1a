// Keys and lives of values, and the rules that all parts share.
#include "core/dataflow/binder.h"

#include <algorithm>

#include "core/lower/chunk.h"
#include "core/lower/kernels.h"
#include "core/problem/problem.h"

namespace tandem {

Binder::Binder(const ModelGraph& model, const Plan& plan, const Shard& shard, const TaskGraph& graph,
               std::uint32_t stage)
    : model_(model),
      plan_(plan),
      shard_(shard),
      graph_(graph),
      program_(graph.programs[ProgramId(stage)]),
      stage_(stage),
      layouts_(chunk_layouts(model, plan, shard)),
      messages_(plan, static_cast<std::uint32_t>(plan.chunks.size())) {
  flow_.parameters = parameter_layout(model, plan, shard, layouts_, stage);
}

DataFlow Binder::run() {
  make_static_values();
  flow_.operands.resize(program_.tasks.size());
  flow_.extra_after.resize(program_.tasks.size());
  for (task_ = 0; task_ < program_.tasks.size(); ++task_) {
    const Task& task = program_.tasks[task_];
    const Subject& subject = graph_.subjects[task.label];
    const Slot slot{task.chunk, task.microbatch};
    phase_ = task.phase;
    if (subject.part >= Part::BucketAllReduce) {
      bind_step(task, subject);
    } else if (phase_ == Phase::Forward || phase_ == Phase::Recompute) {
      forward(slot, subject.op, subject.part);
    } else {
      backward(slot, subject.op, subject.part);
    }
  }
  return std::move(flow_);
}

ValueId Binder::push(ValueId value, Operand::Access access) {
  flow_.operands[task_].push_back({value, access});
  Value& v = flow_.values[value];
  const bool lives_always = v.kind <= ValueKind::ExpAvgSq;
  if (!lives_always) {
    if (v.take == whole_step) v.take = task_;
    v.give = task_;
  }
  return value;
}
ValueId Binder::read(ValueId value) { return push(value, Operand::Access::Read); }
ValueId Binder::update(ValueId value) { return push(value, Operand::Access::Update); }

ValueId Binder::make(Key key, BufferClass memory_class, Bytes size, bool routed) {
  Value value;
  value.kind = key.kind;
  value.id = key.id;
  value.index = key.index;
  value.chunk = key.slot.chunk;
  value.microbatch = key.slot.microbatch;
  value.memory_class = memory_class;
  value.size = size;
  value.routed = routed;
  const ValueId id = flow_.values.push_back(value);
  values_[key] = id;
  return push(id, Operand::Access::Write);
}

const ValueId* Binder::find(const Key& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}
ValueId Binder::known(const Key& key) const {
  const ValueId* found = find(key);
  if (!found) {
    const Task& task = program_.tasks[task_];
    check(false, "task " + std::to_string(task_) + " " + graph_.labels[task.label] + " reads value kind " +
                     std::to_string(static_cast<int>(key.kind)) + " of " + std::to_string(key.id) + " index " +
                     std::to_string(key.index) + " before it is made");
  }
  return *found;
}

const ChunkLayout& Binder::layout(Slot slot) const {
  return layouts_[plan_.schedule.chunks[stage_][slot.chunk].position];
}
bool Binder::holds(Slot slot, TensorId tensor) const {
  const OperatorId producer = model_[tensor].producer;
  return producer >= layout(slot).first && producer <= layout(slot).last;
}

std::optional<Binder::Slot> Binder::neighbour(Slot slot, int distance) const {
  const ChunkPlace place = plan_.schedule.chunks[stage_][slot.chunk];
  const std::int64_t position = static_cast<std::int64_t>(place.position) + distance;
  if (position < 0 || position >= static_cast<std::int64_t>(layouts_.size())) return std::nullopt;
  const Schedule::Home home = plan_.schedule.home({static_cast<std::uint32_t>(position), place.direction});
  if (home.stage != stage_) return std::nullopt;
  return Slot{static_cast<std::uint16_t>(home.chunk), slot.microbatch};
}

std::size_t Binder::count(Slot slot, OperatorId op, Part part) {
  const int body = static_cast<int>(part) * 16 + static_cast<int>(phase_);
  return counts_[{slot, {op.value, body}}]++;
}

ValueId Binder::tensor(Slot slot, TensorId tensor) const {
  if (!holds(slot, tensor)) {
    if (const std::optional<Slot> before = neighbour(slot, -1)) return this->tensor(*before, tensor);
  }
  return known({ValueKind::Tensor, tensor.value, 0, slot});
}

bool Binder::crosses(OperatorId reader, TensorId tensor) const {
  return reads_whole_tokens(shard_, model_[reader], model_[tensor]);
}
bool Binder::sums_over_ranks(OperatorId op) const {
  const Operator& o = model_[op];
  return shard_.tp() > 1 &&
         (o.split == Split::Row || (o.split == Split::Vocabulary && std::holds_alternative<Embedding>(o.kind)));
}

ValueId Binder::input_form(Slot slot, OperatorId op, TensorId x) const {
  if (shard_.sequence_parallel() && crosses(op, x)) return known({ValueKind::Whole, x.value, 0, slot});
  return tensor(slot, x);
}
ValueId Binder::output_gradient(Slot slot, OperatorId op) {
  if (const ValueId* whole = find({ValueKind::WholeGradient, op.value, 0, slot})) return *whole;
  return gradient(slot, model_.output(op));
}

void Binder::make_tensor(Slot slot, TensorId tensor) {
  make({ValueKind::Tensor, tensor.value, 0, slot}, BufferClass::Activations,
       shard_.tensor_bytes(model_, model_[tensor]), model_[tensor].layout == Layout::Expert);
}
void Binder::make_input_gradient(Slot slot, OperatorId op, std::size_t input) {
  const Tensor& tensor = model_[model_.inputs(op)[input]];
  make({ValueKind::InputGradient, op.value, static_cast<std::uint16_t>(input), slot}, BufferClass::Temporary,
       shard_.tensor_bytes(model_, tensor), tensor.layout == Layout::Expert);
}
void Binder::make_exchange(Slot slot, OperatorId op, Exchange exchange, Bytes size, std::size_t step,
                           bool routed) {
  make({ValueKind::Exchanged, op.value, exchange_index(exchange, step), slot}, BufferClass::Communication, size,
       routed);
}
ValueId Binder::exchange(Slot slot, OperatorId op, Exchange exchange, std::size_t step) const {
  return known({ValueKind::Exchanged, op.value, exchange_index(exchange, step), slot});
}
ValueId Binder::own(ValueKind kind, OperatorId op, Slot slot) const { return known({kind, op.value, 0, slot}); }

std::vector<std::uint32_t> Binder::buckets_of(OperatorId op) const {
  std::vector<std::uint32_t> result;
  const std::uint32_t parameters = parameters_read(model_, op);
  for (std::uint32_t p = 0; p < parameters; ++p) {
    const auto found = flow_.parameters.find(model_, op, p);
    if (found && std::find(result.begin(), result.end(), found->bucket) == result.end())
      result.push_back(found->bucket);
  }
  return result;
}

ValueId Binder::weights(Slot slot, std::uint32_t bucket) const {
  const BucketLayout& layout = flow_.parameters.buckets[bucket];
  if (!layout.gathered_for_use) return known({ValueKind::Weights, bucket, 0, {}});
  return known({ValueKind::GatheredWeights, bucket, 0, {layout.chunk, slot.microbatch}});
}
void Binder::read_parameters(Slot slot, OperatorId op) {
  for (std::uint32_t bucket : buckets_of(op)) read(weights(slot, bucket));
}

ValueId Binder::gradients(Slot slot, std::uint32_t bucket) {
  const BucketLayout& layout = flow_.parameters.buckets[bucket];
  if (!layout.reduced_at_once) return update(known({ValueKind::Gradients, bucket, 0, {}}));
  const Key key{ValueKind::BucketGradients, bucket, 0, {layout.chunk, slot.microbatch}};
  if (const ValueId* open = find(key)) return update(*open);
  return make(key, BufferClass::Gradients,
              Bytes(static_cast<double>(layout.elements) * bytes_per_element(plan_.spec.main_grads_dtype)));
}
void Binder::update_gradients(Slot slot, OperatorId op) {
  for (std::uint32_t bucket : buckets_of(op)) gradients(slot, bucket);
}

void Binder::make_static_values() {
  const PlanSpec& spec = plan_.spec;
  const bool adam = spec.optimizer == OptimizerKind::Adam;
  const bool master = spec.dtype != DType::Fp32;
  for (std::uint32_t b = 0; b < flow_.parameters.buckets.size(); ++b) {
    const BucketLayout& bucket = flow_.parameters.buckets[b];
    const auto all = static_cast<double>(bucket.elements), own = static_cast<double>(bucket.own_elements());
    const auto hold = [&](ValueKind kind, BufferClass memory_class, double bytes) {
      Value value;
      value.kind = kind;
      value.id = b;
      value.memory_class = memory_class;
      value.size = Bytes(bytes);
      values_[{kind, b, 0, {}}] = flow_.values.push_back(value);
    };
    hold(ValueKind::Weights, BufferClass::Weights,
         (bucket.gathered_for_use ? own : all) * parameter_bytes(spec));
    hold(ValueKind::Gradients, BufferClass::Gradients,
         (bucket.reduced_at_once ? own : all) * bytes_per_element(spec.main_grads_dtype));
    if (master)
      hold(ValueKind::MasterWeights, BufferClass::OptimizerState,
           own * bytes_per_element(spec.main_params_dtype));
    hold(ValueKind::ExpAvg, BufferClass::OptimizerState, own * bytes_per_element(spec.exp_avg_dtype));
    if (adam)
      hold(ValueKind::ExpAvgSq, BufferClass::OptimizerState, own * bytes_per_element(spec.exp_avg_sq_dtype));
  }
}

DataFlow bind_values(const ModelGraph& model, const Plan& plan, const TaskGraph& graph, std::uint32_t stage) {
  const Shard shard(model, plan);
  DataFlow flow = Binder(model, plan, shard, graph, stage).run();
  add_missing_waits(flow, graph.programs[ProgramId(stage)]);
  return flow;
}

}  // namespace tandem
