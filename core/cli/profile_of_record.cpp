// Durations of works as a measured record holds them.
#include "core/cli/profile_of_record.h"

#include <fmt/format.h>

#include <map>

#include "core/cli/prediction.h"
#include "core/lower/lower.h"

namespace tandem {
namespace {

Scenario scenario_of_record(const RunRecord& record, const std::string& file, const Library& library) {
  Scenario scenario = parse_scenario(record.header.scenario, file, {}, library);
  scenario.plan.where.clear();  // a record holds every key, also those that nobody typed
  return scenario;
}

class RecordReader {
 public:
  RecordReader(const RunRecord& record, const std::string& file, const Library& library, ProfileBuilder& into)
      : record_(record),
        file_(file),
        into_(into),
        prepared_(prepare(scenario_of_record(record, file, library))),
        graph_(lower(prepared_.model, prepared_.plan)) {}

  void read() {
    find_tasks();
    // By lane and task: times of measured steps.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Seconds>> times;
    for (const RecordSpan& span : record_.spans)
      if (span.step >= record_.warmup_steps) times[{span.lane, span.task}].push_back(span.end - span.start);
    if (times.empty())
      refuse({.file = file_}, "the record has no measured steps", "run more than --warmup steps");
    for (auto& [key, durations] : times)
      add(record_.lanes[key.first].rank, key.second, median(std::move(durations)));
  }

 private:
  // Tasks of a record are those of its ranks' programs, each program once, in the order of the ranks.
  void find_tasks() {
    std::map<std::uint32_t, bool> known;
    for (const RecordLane& lane : record_.lanes) {
      const ProgramId program = graph_.program_of.at(lane.rank.value);
      if (!known.try_emplace(program.value, true).second) continue;
      for (const Task& task : graph_.programs[program].tasks) tasks_.push_back(&task);
    }
    bool same = tasks_.size() == record_.tasks.size();
    for (std::size_t t = 0; same && t < tasks_.size(); ++t)
      same = graph_.labels[tasks_[t]->label] == record_.tasks[t].label &&
             tasks_[t]->phase == record_.tasks[t].phase;
    if (!same)
      refuse({.file = file_}, "its tasks are not those that its scenario has now",
             "it was made by another version of Tandem: run the scenario again");
  }

  void add(RankId rank, std::uint32_t task, Seconds time) {
    const Work& work = graph_.works[tasks_[task]->work];
    const DeviceId device(graph_.device_of[rank.value]);
    const std::string& kind = prepared_.cluster.kinds()[prepared_.cluster[device].kind.value].id;
    if (const auto* compute = std::get_if<Compute>(&work)) {
      into_.add(kind, kind_of(*compute), shape_of(*compute), time);
    } else if (const auto* collective = std::get_if<Collective>(&work)) {
      const std::size_t members = graph_.mesh.size(collective->axis);
      if (members < 2) return;
      const Algorithm algorithm = carried_by(collective->kind, record_.tasks[task].algorithm);
      into_.add(kind, kind_of(*collective, algorithm, members), shape_of(collective->size), time);
    } else if (const auto* receive = std::get_if<Receive>(&work)) {
      into_.add(kind, {.work = MeasuredWork::Message}, shape_of(receive->size), time);
    }
  }

  const RunRecord& record_;
  const std::string& file_;
  ProfileBuilder& into_;
  const Prepared prepared_;
  const TaskGraph graph_;
  std::vector<const Task*> tasks_;  // by task of the record
};

}  // namespace

void add_record(const RunRecord& record, const std::string& file, const Library& library,
                ProfileBuilder& into) {
  if (record.header.backend == "estimate" || record.header.backend == "simgrid")
    refuse({.file = file}, "is a prediction and measures nothing", "give a record of tandem run");
  RecordReader(record, file, library, into).read();
}

}  // namespace tandem
