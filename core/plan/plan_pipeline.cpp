// The pipeline: which schedule, how many chunks a stage, which blocks in each chunk, and whether the batch fits
// it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "core/plan/plan_draft.h"

namespace tandem {
namespace {

constexpr const char* kChunks = "virtual_pipeline_model_parallel_size";
constexpr const char* kStages = "pipeline_model_parallel_size";
// A schedule of this many slots takes 0.8 GB.
constexpr std::int64_t kMostSlots = std::int64_t{1} << 26;
constexpr std::int64_t kMostChunks = 65535;

std::int64_t block_count(const ModelGraph& graph) {
  return std::count_if(graph.layers().begin(), graph.layers().end(),
                       [](const Layer& layer) { return layer.role == Layer::Role::Block; });
}

// Near-even: the positions in the middle take one more, since the outer ones hold embedding and head.
std::vector<std::int64_t> near_even_split(std::int64_t blocks, std::int64_t positions) {
  std::vector<std::int64_t> split(static_cast<std::size_t>(positions), blocks / positions);
  const std::int64_t more = blocks % positions, first = (positions - more) / 2;
  for (std::int64_t position = first; position < first + more; ++position)
    ++split[static_cast<std::size_t>(position)];
  return split;
}

std::string split_hint(const PlanDraft& draft, std::int64_t blocks) {
  const std::int64_t chunks = draft.positions / draft.spec.pipeline_model_parallel_size;
  std::vector<std::int64_t> legal;
  for (std::int64_t stages : divisors(blocks))
    if (blocks / stages % chunks == 0) legal.push_back(stages);
  std::string hint = legal.empty() ? std::string()
                                   : fmt::format("for {}, {}", kStages,
                                                 use_one_of(legal, draft.spec.pipeline_model_parallel_size));
  if (draft.positions <= blocks && draft.positions <= 128) {
    if (!hint.empty()) hint += "; or ";
    hint += fmt::format("pipeline_layers = [{}]", fmt::join(near_even_split(blocks, draft.positions), ", "));
  }
  return hint;
}

void check_explicit_split(PlanDraft& draft, std::int64_t blocks) {
  const std::vector<std::int64_t>& split = draft.spec.pipeline_layers;
  const auto refuse = [&](std::string what, std::string hint) {
    draft.refuse("pipeline_layers", std::move(what), std::move(hint));
  };
  const std::string example =
      draft.positions <= blocks && draft.positions <= 128
          ? fmt::format("use for instance [{}]", fmt::join(near_even_split(blocks, draft.positions), ", "))
          : std::string();
  if (static_cast<std::int64_t>(split.size()) != draft.positions)
    return refuse(fmt::format("pipeline_layers has {} entries, the pipeline has {} chunks", split.size(),
                              draft.positions),
                  example);
  for (std::size_t position = 0; position < split.size(); ++position) {
    if (split[position] < 0 || split[position] > blocks)
      return refuse(fmt::format("pipeline_layers has {} blocks in chunk {}, the model has {}", split[position],
                                position, blocks),
                    example);
    // Embedding or head alone may fill the first or the last chunk.
    const bool embedding = position == 0 && draft.graph.layers().front().role != Layer::Role::Block;
    const bool head = position + 1 == split.size() && draft.graph.layers().back().role != Layer::Role::Block;
    if (split[position] == 0 && !embedding && !head)
      return refuse(fmt::format("pipeline_layers leaves chunk {} empty", position), example);
  }
  const std::int64_t sum = std::accumulate(split.begin(), split.end(), std::int64_t{0});
  if (sum != blocks)
    refuse(fmt::format("pipeline_layers adds up to {} blocks, {} has {}", sum, draft.graph.name(), blocks),
           example);
}

void check_chunks_typed(PlanDraft& draft, ScheduleKind kind) {
  const std::int64_t chunks = draft.spec.virtual_pipeline_model_parallel_size;
  const auto says = [&](std::string_view what) {
    return fmt::format("schedule = {} {}, but {} = {}", name(kind), what, kChunks, chunks);
  };
  switch (kind) {
    case ScheduleKind::GPipe:
    case ScheduleKind::OneForwardOneBackward:
    case ScheduleKind::ZeroBubbleH1:
    case ScheduleKind::DualPipe:
      if (chunks > 1)
        draft.refuse(kChunks, says("has one chunk a stage"), "leave it out, or use schedule = interleaved");
      break;
    case ScheduleKind::ZeroBubbleV:
      if (chunks != 0 && chunks != 2)
        draft.refuse(kChunks, says("has two chunks a stage"), "use 2, or leave it out");
      break;
    case ScheduleKind::Interleaved: {
      if (chunks > 1) break;
      std::vector<std::int64_t> legal;
      const std::int64_t stages = draft.spec.pipeline_model_parallel_size, blocks = block_count(draft.graph);
      if (draft.usable({kStages}) && blocks > 0 && blocks % stages == 0) legal = divisors(blocks / stages);
      if (!legal.empty()) legal.erase(legal.begin());
      draft.refuse(kChunks, says("needs at least two chunks a stage"),
                   legal.empty() ? "use 2 or more, or schedule = 1f1b" : use_one_of(legal, 2));
      break;
    }
  }
}

std::string misfit_hint(const PlanDraft& draft, ScheduleKind kind, std::int64_t samples_a_microbatch) {
  const std::int64_t stages = draft.spec.pipeline_model_parallel_size, gbs = draft.spec.global_batch_size;
  if (kind == ScheduleKind::Interleaved)
    return fmt::format("for global_batch_size, {}", use_multiple(stages * samples_a_microbatch, gbs));
  return fmt::format("for global_batch_size, {}",
                     use_multiple(2 * samples_a_microbatch, gbs, 2 * stages * samples_a_microbatch));
}

}  // namespace

void resolve_schedule(PlanDraft& draft) {
  PlanSpec& spec = draft.spec;
  if (!draft.usable({kChunks})) return;
  if (!spec.schedule)
    spec.schedule = spec.virtual_pipeline_model_parallel_size > 1 ? ScheduleKind::Interleaved
                                                                  : ScheduleKind::OneForwardOneBackward;
  const ScheduleKind kind = *spec.schedule;
  check_chunks_typed(draft, kind);
  if (!draft.usable({kChunks, kStages})) return;
  const std::int64_t stages = spec.pipeline_model_parallel_size;
  if (spec.virtual_pipeline_model_parallel_size == 0)
    spec.virtual_pipeline_model_parallel_size = kind == ScheduleKind::ZeroBubbleV ? 2 : 1;
  const std::int64_t chunks = spec.virtual_pipeline_model_parallel_size;
  if (chunks > kMostChunks)
    return draft.refuse(kChunks, fmt::format("{} = {} is more than {}", kChunks, chunks, kMostChunks));
  if (kind == ScheduleKind::Interleaved && stages == 1)
    draft.refuse(kChunks, fmt::format("{} = {} needs {} > 1", kChunks, chunks, kStages), "leave it out");
  if (kind == ScheduleKind::DualPipe && stages % 2 != 0)
    draft.refuse("schedule", fmt::format("schedule = dualpipe needs an even {}, not {}", kStages, stages),
                 fmt::format("for {}, {}", kStages, use_multiple(2, stages)));
  draft.positions = stages * chunks;
}

void resolve_layers(PlanDraft& draft) {
  if (draft.positions == 0 || !draft.usable({"pipeline_layers"})) return;
  const std::int64_t blocks = block_count(draft.graph);
  if (!draft.spec.pipeline_layers.empty()) {
    check_explicit_split(draft, blocks);
    draft.blocks_a_position = draft.spec.pipeline_layers;
    return;
  }
  if (blocks > 0 && blocks % draft.positions == 0) {
    draft.blocks_a_position.assign(static_cast<std::size_t>(draft.positions), blocks / draft.positions);
    return;
  }
  const std::int64_t chunks = draft.spec.virtual_pipeline_model_parallel_size;
  const std::string pipeline = chunks > 1
                                   ? fmt::format("{} = {} x {} = {} chunks", kStages,
                                                 draft.spec.pipeline_model_parallel_size, kChunks, chunks)
                                   : fmt::format("{} = {}", kStages, draft.spec.pipeline_model_parallel_size);
  draft.refuse(
      "pipeline_layers",
      fmt::format("{} layers of {} cannot be split evenly over {}", blocks, draft.graph.name(), pipeline),
      split_hint(draft, blocks));
}

void resolve_batch(PlanDraft& draft) {
  PlanSpec& spec = draft.spec;
  if (!draft.usable({"micro_batch_size", "data_parallel_size", "global_batch_size"}) || draft.world == 0)
    return;
  const std::int64_t samples = bounded_product({spec.micro_batch_size, spec.data_parallel_size});
  if (spec.global_batch_size == 0) spec.global_batch_size = samples;
  if (spec.global_batch_size % samples != 0)
    return draft.refuse(
        "global_batch_size",
        fmt::format(
            "global_batch_size = {} is not a multiple of micro_batch_size {} x data_parallel_size {} = {}",
            spec.global_batch_size, spec.micro_batch_size, spec.data_parallel_size, samples),
        use_multiple(samples, spec.global_batch_size));
  draft.microbatches = spec.global_batch_size / samples;
  if (!spec.schedule || draft.positions == 0 || !draft.usable({kChunks, kStages, "schedule"})) return;
  const std::int64_t slots = bounded_product({draft.positions, draft.microbatches, 3});
  if (slots > kMostSlots)
    return draft.refuse(
        "global_batch_size",
        fmt::format("{} microbatches of {} chunks are more than can be scheduled ({} slots, at most {})",
                    draft.microbatches, draft.positions, slots, kMostSlots),
        "use a smaller global_batch_size or a larger micro_batch_size");
  const ScheduleShape shape{
      .stages = static_cast<std::uint32_t>(spec.pipeline_model_parallel_size),
      .microbatches = static_cast<std::uint32_t>(draft.microbatches),
      .chunks_per_stage = static_cast<std::uint32_t>(spec.virtual_pipeline_model_parallel_size)};
  if (const std::string misfit = schedule_misfit(*spec.schedule, shape); !misfit.empty())
    draft.refuse(
        "global_batch_size",
        fmt::format("schedule = {} {} (global_batch_size {} / micro_batch_size {} / data_parallel_size {})",
                    name(*spec.schedule), misfit, spec.global_batch_size, spec.micro_batch_size,
                    spec.data_parallel_size),
        misfit_hint(draft, *spec.schedule, samples));
}

}  // namespace tandem
