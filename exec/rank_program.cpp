// Binds tasks to calls, edges to events, and runs them.
#include "exec/rank_program.h"

#include <map>
#include <tuple>

#include "core/problem/problem.h"

namespace tandem {

RankProgram::RankProgram(RankState& state, DeviceRuntime& device, Communicator& communicator,
                         ExchangeOptions options)
    : state_(state),
      device_(device),
      communicator_(communicator),
      options_(options),
      prepared_(state.program().tasks.size()),
      done_(std::make_unique<Event[]>(prepared_.size())),
      times_(prepared_.size()),
      last_times_(prepared_.size()) {
  const Program& program = state.program();
  const TaskGraph& graph = state.setup().graph;
  std::map<std::tuple<LabelId, Phase, std::uint32_t>, std::uint32_t> occurrences;
  for (std::uint32_t t = 0; t < prepared_.size(); ++t) {
    const Task& task = program.tasks[t];
    const ComputeCall call{.task = t,
                           .subject = graph.subjects[task.label],
                           .phase = task.phase,
                           .microbatch = task.microbatch,
                           .occurrence = occurrences[{task.label, task.phase, task.microbatch}]++,
                           .operands = state.flow().of(t)};
    Prepared& prepared = prepared_[t];
    const Work& work = graph.works[task.work];
    prepared.compute = std::holds_alternative<Compute>(work) || std::holds_alternative<WaitForInput>(work);
    if (prepared.compute) {
      prepared.calls.push_back(device_.prepare(call, state_));
    } else {
      prepared.around = make_exchanges(call, work, state_, options_);
      for (const ExchangeStep& step : prepared.around)
        prepared.calls.push_back(communicator_.prepare(step.call));
    }
    for (std::uint32_t earlier : program.waits_for(t)) prepared.after.push_back(&done_[earlier]);
    for (std::uint32_t earlier : state.flow().extra_after[t]) prepared.after.push_back(&done_[earlier]);
  }
}

void RankProgram::enqueue_exchange(std::uint32_t task) {
  const Prepared& prepared = prepared_[task];
  const std::size_t last = prepared.calls.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    Enqueued what{.call = prepared.calls[i],
                  .lane = static_cast<std::uint32_t>(state_.program().tasks[task].lane),
                  .before = prepared.around[i].before,
                  .finish = prepared.around[i].finish};
    if (i == 0) what.after = prepared.after;
    if (i == 0) what.times = &times_[task];
    if (i == last) what.done = &done_[task];
    if (i == last && last > 0) what.times = &last_times_[task];
    communicator_.enqueue(std::move(what));
  }
}

void RankProgram::run_step(std::int64_t step) {
  state_.step = step;
  state_.loss = 0;
  const Program& program = state_.program();
  for (std::uint32_t t = 0; t < prepared_.size(); ++t) done_[t].reset();
  for (std::uint32_t t = 0; t < prepared_.size(); ++t) {
    if (prepared_[t].compute) {
      device_.enqueue({.call = prepared_[t].calls.front(),
                       .lane = program.tasks[t].lane,
                       .after = prepared_[t].after,
                       .done = &done_[t],
                       .times = &times_[t]});
    } else {
      enqueue_exchange(t);
    }
  }
  communicator_.drain();
  device_.drain();
  for (std::uint32_t t = 0; t < prepared_.size(); ++t) {
    if (prepared_[t].calls.size() > 1) note(times_[t].end, last_times_[t].end);
  }
  state_.loader().end_step();
}

}  // namespace tandem
