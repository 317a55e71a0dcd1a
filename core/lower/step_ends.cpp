// What begins and ends a step: static memory, zeroed gradients, late reductions, clipping, the optimizer,
// gathers.
#include "core/lower/kernels.h"
#include "core/lower/stage_writer.h"

namespace tandem {

// Elements whose optimizer state this rank holds, and whose gradients it keeps once they are reduced.
double StageWriter::own_elements() const {
  return static_cast<double>(parameters_.dense) / shard_degree(false) +
         static_cast<double>(parameters_.expert) / shard_degree(true);
}

void StageWriter::write_static_memory() {
  const PlanSpec& spec = plan_.spec;
  const auto hold = [&](BufferClass memory_class, double bytes, const char* label) {
    if (bytes > 0)
      program_.buffers.push_back({memory_class, Bytes(bytes), whole_step, whole_step, interner_.label(label)});
  };
  const bool adam = spec.optimizer == OptimizerKind::Adam;
  const double master = spec.dtype == DType::Fp32 ? 0 : bytes_per_element(spec.main_params_dtype);
  const double state =
      master + bytes_per_element(spec.exp_avg_dtype) + (adam ? bytes_per_element(spec.exp_avg_sq_dtype) : 0);
  const double gradient = bytes_per_element(spec.main_grads_dtype);
  for (bool expert : {false, true}) {
    const double elements = static_cast<double>(expert ? parameters_.expert : parameters_.dense);
    const double shard = shard_degree(expert);
    hold(BufferClass::Weights, elements * parameter_bytes(spec) / (spec.zero_stage >= 3 ? shard : 1),
         expert ? "expert weights" : "weights");
    hold(BufferClass::Gradients, elements * gradient / (spec.zero_stage >= 2 ? shard : 1),
         expert ? "expert gradients" : "gradients");
    // What products write before it is added to the main gradient stays allocated from step to step.
    if (!spec.gradient_accumulation_fusion && spec.zero_stage < 2 && spec.main_grads_dtype == DType::Fp32 &&
        spec.dtype != DType::Fp32)
      hold(BufferClass::Gradients, elements * parameter_bytes(spec),
           expert ? "expert gradients before their sum" : "gradients before their sum");
    hold(BufferClass::OptimizerState, elements * state / shard,
         expert ? "expert optimizer state" : "optimizer state");
  }
}

void StageWriter::write_step_begin() {
  const PlanSpec& spec = plan_.spec;
  std::uint32_t host = no_task;
  if (spec.host_seconds_per_step.value > 0) {
    host = add("host", {.part = Part::Host}, Lane::Input, Phase::Forward,
               WaitForInput{spec.host_seconds_per_step, Bytes(0)}, {});
  }
  const double elements = spec.zero_stage >= 2 ? own_elements() : static_cast<double>(parameters_.total());
  add("gradients.zero", {.part = Part::ZeroGradients}, Lane::Compute, Phase::Update,
      memory_pass(PassKind::Copy, Phase::Update, elements, bytes_per_element(spec.main_grads_dtype)), {host});
  if (spec.zero_stage == 0 || spec.zero_stage >= 3 || !spec.overlap_param_gather) return;
  // The parameters that the last update left in shards are gathered while the first forward pass runs, in its
  // order.
  const std::size_t own = plan_.schedule.chunks[stage_].size();
  for (std::uint32_t c = 0; c < own; ++c) {
    const LoweredChunk& chunk = chunk_at(c);
    parameter_gathers_[c].assign(chunk.buckets.size(), no_task);
    for (std::size_t b = chunk.buckets.size(); b-- > 0;)
      parameter_gathers_[c][b] = gather_bucket(chunk, b, {host}, no_microbatch);
  }
}

void StageWriter::write_step_end() {
  const PlanSpec& spec = plan_.spec;
  const std::size_t own = plan_.schedule.chunks[stage_].size();
  if (!spec.overlap_grad_reduce && spec.zero_stage < 2) {
    for (std::uint32_t c = 0; c < own; ++c) {
      for (std::size_t b = 0; b < chunk_at(c).buckets.size(); ++b) {
        reductions_.push_back(reduce_bucket(chunk_at(c), b, {last_compute_[0]}, no_microbatch));
      }
    }
  }
  std::vector<std::uint32_t> ready = reductions_;
  const double grad = gradient_bytes(spec);
  if (plan_.schedule.kind == ScheduleKind::DualPipe) {
    // Both stages hold the same chunks: shards meet their likes.
    ready.push_back(
        add("gradients.mirror.all_reduce", {.part = Part::MirrorAllReduce}, Lane::Data, Phase::Update,
            Collective{CollectiveKind::AllReduce, Axis::Mirror, Bytes(own_elements() * grad), Algorithm::Auto},
            {last_compute_[0]}));
  }
  if (model_.tied_embeddings() && plan_.schedule.stages > 1) {
    // First and last stage hold a copy each; ZB-V and DualPipe keep both ends on one stage.
    bool first = false, last = false;
    for (std::uint32_t c = 0; c < own; ++c) {
      first = first || position_of(c) == 0;
      last = last || position_of(c) + 1 == plan_.chunks.size();
    }
    if (first != last) {
      const std::int64_t width = model_[model_.output(OperatorId(0))].width;
      const Bytes size(static_cast<double>(width * (plan_.padded_vocabulary / shard_.tp())) * grad);
      ready.push_back(add(
          "embedding.word.gradient.all_reduce", {.part = Part::EmbeddingAllReduce}, Lane::Data, Phase::Update,
          Collective{CollectiveKind::AllReduce, Axis::Embedding, size, Algorithm::Auto}, {last_compute_[0]}));
    }
  }
  if (shard_.sequence_parallel() && parameters_.replicated > 0) {
    // Each rank saw its share of the tokens only. The sums over replicas touch the same gradients.
    std::vector<std::uint32_t> settled = ready;
    settled.push_back(last_compute_[0]);
    ready.push_back(add("replicated_gradients.all_reduce", {.part = Part::ReplicatedAllReduce}, Lane::Tensor,
                        Phase::Update,
                        Collective{CollectiveKind::AllReduce, Axis::Tensor,
                                   Bytes(static_cast<double>(parameters_.replicated) * grad), Algorithm::Auto},
                        std::move(settled)));
  }
  const double updated = own_elements();
  if (spec.gradient_clipping) {
    const std::uint32_t norm = add("gradient_norm", {.part = Part::GradientNorm}, Lane::Compute, Phase::Update,
                                   memory_pass(PassKind::GradientNorm, Phase::Update, updated,
                                               bytes_per_element(spec.main_grads_dtype), 2),
                                   ready);
    ready = {norm};
    if (plan_.mesh.ranks() > 1) {
      ready = {add("gradient_norm.all_reduce", {.part = Part::GradientNormAllReduce}, Lane::Data, Phase::Update,
                   Collective{CollectiveKind::AllReduce, Axis::World, Bytes(4), Algorithm::Auto}, {norm})};
    }
  }
  // Reads the gradient; reads and writes master weights and moments; writes the working weights.
  const bool adam = spec.optimizer == OptimizerKind::Adam;
  const double moments =
      bytes_per_element(spec.exp_avg_dtype) + (adam ? bytes_per_element(spec.exp_avg_sq_dtype) : 0);
  const double master = spec.dtype == DType::Fp32 ? 0 : bytes_per_element(spec.main_params_dtype);
  const double bytes = bytes_per_element(spec.main_grads_dtype) + 2 * (moments + master) +
                       (spec.dtype == DType::Fp32 ? 2 : 1) * parameter_bytes(spec);
  const std::uint32_t update = add("optimizer", {.part = Part::Optimizer}, Lane::Compute, Phase::Update,
                                   memory_pass(PassKind::Optimizer, Phase::Update, updated, bytes, 4), ready);
  if (spec.zero_stage == 0 || spec.zero_stage >= 3 || spec.overlap_param_gather) return;
  for (std::uint32_t c = 0; c < own; ++c) {
    for (std::size_t b = chunk_at(c).buckets.size(); b-- > 0;)
      gather_bucket(chunk_at(c), b, {update}, no_microbatch);
  }
}

}  // namespace tandem
