// Operands of what begins and ends a step, of buckets, and of what travels between stages.
#include "core/dataflow/binder.h"
#include "core/problem/problem.h"

namespace tandem {

void Binder::bind_step(const Task& task, const Subject& subject) {
  const auto buckets = static_cast<std::uint32_t>(flow_.parameters.buckets.size());
  const Key norm{ValueKind::NormSum, 0, 0, {}};
  const auto all = [&](ValueKind kind, Operand::Access access) {
    for (std::uint32_t b = 0; b < buckets; ++b) {
      if (const ValueId* value = find({kind, b, 0, {}})) push(*value, access);
    }
  };
  switch (subject.part) {
    case Part::BucketAllReduce:
    case Part::BucketReduceScatter:
    case Part::BucketAllGather:
      return bind_bucket(task, subject);
    case Part::ActivationSend:
    case Part::ActivationReceive:
    case Part::GradientSend:
    case Part::GradientReceive:
      return bind_message(task, subject);
    case Part::ZeroGradients:
      return all(ValueKind::Gradients, Operand::Access::Write);
    case Part::MirrorAllReduce:
    case Part::ReplicatedAllReduce:
      return all(ValueKind::Gradients, Operand::Access::Update);
    case Part::EmbeddingAllReduce: {
      // The table on the first stage, the head's copy of it on the last.
      for (std::uint32_t b = 0; b < buckets; ++b) {
        for (const ParameterPlace& place : flow_.parameters.buckets[b].places) {
          if (place.op == table_owner(model_) || (model_[place.op].tied && place.parameter == 0))
            update(known({ValueKind::Gradients, b, 0, {}}));
        }
      }
      return;
    }
    case Part::GradientNorm:
      all(ValueKind::Gradients, Operand::Access::Read);
      make(norm, BufferClass::Temporary, Bytes(16));
      return;
    case Part::GradientNormAllReduce:
      update(known(norm));
      return;
    case Part::Optimizer:
      all(ValueKind::Gradients, Operand::Access::Read);
      for (ValueKind kind :
           {ValueKind::Weights, ValueKind::MasterWeights, ValueKind::ExpAvg, ValueKind::ExpAvgSq})
        all(kind, Operand::Access::Update);
      if (const ValueId* sum = find(norm)) read(*sum);
      return;
    case Part::Host:
    case Part::Input:
      return;
    default:
      check(false, "a part of the step");
  }
}

void Binder::bind_bucket(const Task& task, const Subject& subject) {
  const std::uint32_t b = flow_.parameters.bucket(subject.position, subject.bucket);
  const BucketLayout& bucket = flow_.parameters.buckets[b];
  const Slot slot{bucket.chunk, task.microbatch};
  if (subject.part == Part::BucketAllGather) {
    if (!bucket.gathered_for_use) {
      update(known({ValueKind::Weights, b, 0, {}}));
      return;
    }
    read(known({ValueKind::Weights, b, 0, {}}));
    make({ValueKind::GatheredWeights, b, 0, slot}, BufferClass::Weights,
         Bytes(static_cast<double>(bucket.elements) * parameter_bytes(plan_.spec)));
    return;
  }
  if (!bucket.reduced_at_once) {
    update(known({ValueKind::Gradients, b, 0, {}}));
    return;
  }
  update(known({ValueKind::BucketGradients, b, 0, slot}));
  const bool first_of_two = subject.part == Part::BucketReduceScatter && plan_.mesh.size(Axis::Replica) > 1 &&
                            plan_.mesh.size(bucket.expert ? Axis::ExpertReplica : Axis::Replica) > 1;
  if (first_of_two) return;
  update(known({ValueKind::Gradients, b, 0, {}}));
  values_.erase({ValueKind::BucketGradients, b, 0, slot});
}

void Binder::bind_message(const Task& task, const Subject& subject) {
  const MessageOrder::Message message = messages_[task.message];
  const bool sends = subject.part == Part::ActivationSend || subject.part == Part::GradientSend;
  // Activations leave the chunk before the border, gradients the chunk after it.
  const bool before = message.gradient ? !sends : sends;
  const std::uint32_t position = before ? message.border : message.border + 1;
  const Schedule::Home home = plan_.schedule.home({position, message.direction});
  check(home.stage == stage_, "a message's chunk is on this stage");
  const Slot slot{static_cast<std::uint16_t>(home.chunk), message.microbatch};
  const ChunkLayout& chunk = layouts_[position];
  for (TensorId x : before ? chunk.outputs : chunk.inputs) {
    if (sends) {
      read(message.gradient ? gradient(slot, x) : tensor(slot, x));
      continue;
    }
    const Bytes size = shard_.tensor_bytes(model_, model_[x]);
    if (message.gradient)
      make({ValueKind::ReceivedGradient, x.value, 0, slot}, BufferClass::Communication, size);
    else
      make({ValueKind::Tensor, x.value, 0, slot}, BufferClass::Activations, size);
  }
}

}  // namespace tandem
