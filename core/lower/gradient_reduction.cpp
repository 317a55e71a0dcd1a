// Data parallelism: gradient buckets, ZeRO's shards and hybrid sharding.
#include <fmt/format.h>

#include <algorithm>

#include "core/lower/kernels.h"
#include "core/lower/stage_writer.h"
#include "core/problem/problem.h"

namespace tandem {
bool StageWriter::hybrid() const { return plan_.mesh.size(Axis::Replica) > 1; }

double StageWriter::shard_degree(bool expert) const {
  if (plan_.spec.zero_stage == 0) return 1;
  const Axis whole = expert ? Axis::ExpertData : Axis::DataContext;
  const Axis shard = expert ? Axis::ExpertShard : Axis::Shard;
  return static_cast<double>(plan_.mesh.size(hybrid() ? shard : whole));
}

// ZeRO 0: all-reduce. ZeRO 1 and up: reduce-scatter, and with hybrid sharding an all-reduce among equal shards.
std::uint32_t StageWriter::reduce_bucket(const LoweredChunk& chunk, std::size_t index,
                                         std::vector<std::uint32_t> after, std::uint32_t microbatch) {
  const GradientBucket& bucket = chunk.buckets[index];
  const Axis whole = bucket.expert ? Axis::ExpertData : Axis::DataContext;
  if (plan_.mesh.size(whole) == 1) return no_task;
  const Bytes size(static_cast<double>(bucket.elements) * gradient_bytes(plan_.spec));
  const std::string label =
      fmt::format("{}gradients.{}.{}", bucket.expert ? "expert_" : "", chunk.context.position, index);
  const auto subject = [&](Part part) {
    return Subject{
        .part = part, .position = chunk.context.position, .bucket = static_cast<std::uint32_t>(index)};
  };
  if (plan_.spec.zero_stage == 0) {
    return add(label + ".all_reduce", subject(Part::BucketAllReduce), Lane::Data, Phase::Update,
               Collective{CollectiveKind::AllReduce, whole, size, Algorithm::Auto}, std::move(after),
               microbatch);
  }
  if (!hybrid()) {
    return add(label + ".reduce_scatter", subject(Part::BucketReduceScatter), Lane::Data, Phase::Update,
               Collective{CollectiveKind::ReduceScatter, whole, size, Algorithm::Auto}, std::move(after),
               microbatch);
  }
  const Axis shard = bucket.expert ? Axis::ExpertShard : Axis::Shard;
  const Axis replica = bucket.expert ? Axis::ExpertReplica : Axis::Replica;
  std::uint32_t last = no_task;
  if (plan_.mesh.size(shard) > 1) {
    last = add(label + ".reduce_scatter", subject(Part::BucketReduceScatter), Lane::Data, Phase::Update,
               Collective{CollectiveKind::ReduceScatter, shard, size, Algorithm::Auto}, after, microbatch);
    after = {last};
  }
  if (plan_.mesh.size(replica) > 1) {
    last = add(label + ".all_reduce", subject(Part::BucketAllReduce), Lane::Data, Phase::Update,
               Collective{CollectiveKind::AllReduce, replica,
                          size / static_cast<double>(plan_.mesh.size(shard)), Algorithm::Auto},
               std::move(after), microbatch);
  }
  return last;
}

std::uint32_t StageWriter::gather_bucket(const LoweredChunk& chunk, std::size_t index,
                                         std::vector<std::uint32_t> after, std::uint32_t microbatch) {
  const GradientBucket& bucket = chunk.buckets[index];
  const Axis axis = hybrid()        ? (bucket.expert ? Axis::ExpertShard : Axis::Shard)
                    : bucket.expert ? Axis::ExpertData
                                    : Axis::DataContext;
  if (plan_.mesh.size(axis) == 1) return no_task;
  const Bytes size(static_cast<double>(bucket.elements) * parameter_bytes(plan_.spec));
  const std::string label = fmt::format("{}parameters.{}.{}.all_gather", bucket.expert ? "expert_" : "",
                                        chunk.context.position, index);
  return add(label,
             {.part = Part::BucketAllGather,
              .position = chunk.context.position,
              .bucket = static_cast<std::uint32_t>(index)},
             Lane::Data, Phase::Update, Collective{CollectiveKind::AllGather, axis, size, Algorithm::Auto},
             std::move(after), microbatch);
}

// ZeRO-3: a layer's parameters are gathered while the layer before it computes, and dropped after their use.
std::uint32_t StageWriter::gather_layer(SlotRun& run, LayerId layer, std::uint32_t until) {
  std::uint32_t last = no_task;
  for (std::size_t b = 0; b < run.chunk->buckets.size(); ++b) {
    const GradientBucket& bucket = run.chunk->buckets[b];
    if (bucket.first_layer != layer) continue;
    const std::uint32_t task = gather_bucket(
        *run.chunk, b, {run.layer_start == no_task ? last_compute_[1] : run.layer_start}, run.slot->microbatch);
    if (task == no_task) continue;
    last = task;
    // Held from the gather to the layer's last task; release_memory settles where that stands in the program.
    program_.buffers.push_back({BufferClass::Weights,
                                Bytes(static_cast<double>(bucket.elements) * parameter_bytes(plan_.spec)), task,
                                whole_step, program_.tasks[task].label});
    run.gathered.push_back({static_cast<std::uint32_t>(program_.buffers.size() - 1), until});
  }
  // The next layer's gather may start when this layer does.
  run.layer_start = last_compute_[0];
  return last;
}

void StageWriter::gradients_finished(SlotRun& run, std::uint32_t body_task) {
  const Body& body = *run.body;
  const bool at_once = plan_.spec.overlap_grad_reduce || plan_.spec.zero_stage >= 2;
  while (run.next_ready < body.gradients_ready.size() &&
         body.gradients_ready[run.next_ready].task <= body_task) {
    const OperatorId op = body.gradients_ready[run.next_ready].op;
    ++run.next_ready;
    for (std::size_t b = 0; b < run.chunk->buckets.size(); ++b) {
      const std::vector<OperatorId>& owners = run.chunk->buckets[b].operators;
      if (std::find(owners.begin(), owners.end(), op) == owners.end()) continue;
      run.bucket_ready[b] = run.at[body_task];
      if (run.bucket_first[b] == no_task) run.bucket_first[b] = run.at[body_task];
      if (--run.bucket_left[b] > 0 || !at_once) continue;
      const std::uint32_t task = reduce_bucket(*run.chunk, b, {run.bucket_ready[b]}, run.slot->microbatch);
      if (task == no_task) continue;
      // ZeRO-2: two reductions in flight, as DeepSpeed's pair of buckets and FSDP's streams have it;
      // computation waits for the one before. Else gradients would pile up behind links slower than the
      // devices. (ZeRO-3's gathers, in the same lane, hold computation back by themselves.)
      if (plan_.spec.zero_stage == 2 && !reductions_.empty()) reduction_ahead_ = reductions_.back();
      reductions_.push_back(task);
      if (plan_.spec.zero_stage >= 2) {
        const Bytes size(static_cast<double>(run.chunk->buckets[b].elements) *
                         bytes_per_element(plan_.spec.main_grads_dtype));
        program_.buffers.push_back(
            {BufferClass::Gradients, size, run.bucket_first[b], task, program_.tasks[task].label});
      }
    }
  }
}

}  // namespace tandem
