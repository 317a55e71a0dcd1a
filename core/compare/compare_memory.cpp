// The sample with the largest sum: of a record, and of each stage.
#include "core/compare/compare_memory.h"

#include <map>

namespace tandem {
namespace {

struct Peak {
  Bytes total;
  std::array<Bytes, static_cast<std::size_t>(BufferClass::Count)> classes{};  // at that moment
};

struct Peaks {
  bool known = false;  // the record has samples
  Peak all;
  std::map<std::uint32_t, Peak> stages;
};

Peaks peaks_of(const RunRecord& record) {
  std::map<RankId, std::uint32_t> stage_of;
  for (const RecordLane& lane : record.lanes) stage_of.emplace(lane.rank, lane.stage);
  Peaks peaks;
  for (const RecordMemory& sample : record.memory) {
    peaks.known = true;
    Bytes total;
    for (const Bytes size : sample.live) total += size;
    const auto raise = [&](Peak& peak) {
      if (total > peak.total) peak = {total, sample.live};
    };
    raise(peaks.all);
    if (const auto stage = stage_of.find(sample.rank); stage != stage_of.end())
      raise(peaks.stages[stage->second]);
  }
  return peaks;
}

bool runs_processes(const RunRecord& record) {
  const auto found = record.summary.find("processes");
  return found != record.summary.end() && found->second > 1;
}

// A prediction knows it for ranks that share a process and for those that do not.
Sampled<Bytes> resident(const RunRecord& record, bool processes) {
  auto found = record.summary.end();
  if (processes) found = record.summary.find("resident_mpi_gib");
  if (found == record.summary.end()) found = record.summary.find("resident_gib");
  if (found == record.summary.end()) return {};
  return {gibibytes(found->second), {}, 1};
}

Sampled<Bytes> known(bool is_known, Bytes size) {
  return is_known ? Sampled<Bytes>{size, {}, 1} : Sampled<Bytes>();
}

}  // namespace

void compare_memory(const RunRecord& a, const RunRecord& b, Comparison& result) {
  const Peaks peaks_a = peaks_of(a), peaks_b = peaks_of(b);
  result.memory.total = {known(peaks_a.known, peaks_a.all.total), known(peaks_b.known, peaks_b.all.total)};
  const bool processes = runs_processes(a) || runs_processes(b);
  result.memory.resident = {resident(a, processes), resident(b, processes)};
  for (std::size_t i = 0; i < result.memory.classes.size(); ++i)
    result.memory.classes[i] = {known(peaks_a.known, peaks_a.all.classes[i]),
                                known(peaks_b.known, peaks_b.all.classes[i])};
  for (StageTime& stage : result.stages) {
    const auto peak = [&](const Peaks& peaks) {
      const auto found = peaks.stages.find(stage.stage);
      return found == peaks.stages.end() ? Sampled<Bytes>() : known(true, found->second.total);
    };
    stage.peak = {peak(peaks_a), peak(peaks_b)};
  }
}

}  // namespace tandem
