// Sums of spans over kinds, lanes and stages, each rank as often as it stands for others.
#include "core/compare/step_sums.h"

#include "core/compare/measured_steps.h"

namespace tandem {
namespace {

class Summer {
 public:
  Summer(const RunRecord& record, const TaskKinds& kinds)
      : kinds_(kinds), parts_(record), steps_(parts_.steps().size()), kind_sums_(kinds.size()) {
    std::map<RankId, const RecordLane*> ranks;
    for (const RecordLane& lane : record.lanes) ranks.emplace(lane.rank, &lane);
    for (const auto& [rank, lane] : ranks) {
      ranks_ += lane->multiplicity;
      stage_ranks_[lane->stage] += lane->multiplicity;
    }
  }

  StepSums run() {
    for (std::size_t step = 0; step < steps_; ++step) {
      const RunRecord& part = parts_.record_of(step);
      sums_.mean.push_back(breakdown(part).mean);
      for (const RecordSpan& span : part.spans) add(part, span, step);
    }
    for (std::size_t kind = 0; kind < kind_sums_.size(); ++kind)
      if (!kind_sums_[kind].time.empty()) sums_.kinds.emplace(kinds_.key(kind), std::move(kind_sums_[kind]));
    return std::move(sums_);
  }

 private:
  void add(const RunRecord& part, const RecordSpan& span, std::size_t step) {
    const RecordLane& lane = part.lanes[span.lane];
    const double share = lane.multiplicity / ranks_;
    const Seconds time = span.end - span.start;
    KindSum& kind = kind_sums_[kinds_.of(span.task, lane.lane)];
    add(kind.time, step, time * share);
    kind.tasks += share / static_cast<double>(steps_);
    add(sums_.lanes[lane.lane], step, time * share);
    if (lane.lane == Lane::Compute)
      add(sums_.stages[lane.stage], step, time * (lane.multiplicity / stage_ranks_[lane.stage]));
  }
  void add(std::vector<Seconds>& by_step, std::size_t step, Seconds time) const {
    if (by_step.empty()) by_step.resize(steps_);
    by_step[step] += time;
  }

  const TaskKinds& kinds_;
  StepRecords parts_;
  const std::size_t steps_;
  double ranks_ = 0;
  std::map<std::uint32_t, double> stage_ranks_;
  std::vector<KindSum> kind_sums_;
  StepSums sums_;
};

}  // namespace

StepSums step_sums(const RunRecord& record, const TaskKinds& kinds) { return Summer(record, kinds).run(); }

}  // namespace tandem
