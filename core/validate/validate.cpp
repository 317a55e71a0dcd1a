// Rows to cases to predictions, on all cores; then sums by set.
#include "core/validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace tandem {
namespace {

// Calls work(i) for all i < count on several threads; the first exception is thrown again. `idle` is called
// from the calling thread while they work; false stops.
template <class Work, class Idle>
bool on_threads(std::size_t count, unsigned threads, Work work, Idle idle) {
  std::atomic<std::size_t> next{0}, done{0};
  std::atomic<bool> stopped{false};
  std::exception_ptr failure;
  std::mutex guard;
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !stopped; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!failure) failure = std::current_exception();
        stopped = true;
      }
      ++done;
    }
  };
  std::vector<std::thread> pool;
  for (unsigned t = 0; t < threads; ++t) pool.emplace_back(run);
  while (done < count && !stopped) {
    if (!idle(done.load())) stopped = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
  return !stopped;
}

void predict_row(RowResult& result, const Library& library,
                 const std::shared_ptr<const Calibration>& calibration) {
  std::variant<RunCase, Skip> made = run_case(result.row, library);
  if (const Skip* skip = std::get_if<Skip>(&made)) {
    result.skipped = skip->reason;
    return;
  }
  result.run = std::move(std::get<RunCase>(made));
  result.prediction = predict_case(*result.run, calibration);
  if (!result.prediction.refused.empty()) result.skipped = "the plan is refused";
}

// Same model, devices and batch; another plan.
std::string plan_group(const RowResult& result) {
  const RunRow& row = result.row;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", row.set, result.run->framework, row.layers.value_or(0),
                     row.hidden.value_or(0), row.seq_len.value_or(0), row.gpu, row.num_gpus.value_or(0),
                     row.global_batch.value_or(0), row.precision);
}

void count_fit(const RowResult& result, FitReport& fits) {
  if (!result.run->fits) return;
  if (*result.run->fits == result.prediction.fits)
    ++fits.right;
  else if (result.prediction.fits)
    ++fits.false_fits;
  else
    ++fits.false_out_of_memory;
}

void summarise(ValidationReport& report) {
  std::map<std::string, std::size_t> place;
  std::map<std::string, std::vector<Pair>> times;
  std::vector<Pair> all, memory;
  std::vector<RankedPlan> plans;
  for (const RowResult& result : report.rows) {
    const auto [found, fresh] = place.emplace(result.row.set, report.sets.size());
    if (fresh) report.sets.emplace_back().set = result.row.set;
    SetReport& set = report.sets[found->second];
    if (!result.skipped.empty()) {
      for (SetReport* of : {&set, &report.all}) {
        ++of->skipped;
        ++of->reasons[result.skipped];
      }
      continue;
    }
    for (const std::string& assumed : result.run->assumed) ++set.assumed[assumed];
    if (const auto pair = result.seconds()) {
      times[result.row.set].push_back(*pair);
      all.push_back(*pair);
      plans.push_back({plan_group(result), *pair});
    }
    if (const auto pair = result.memory()) memory.push_back(*pair);
    count_fit(result, report.fits);
  }
  for (SetReport& set : report.sets) set.time = deviations(times[set.set]);
  report.all.set = "all";
  report.all.time = deviations(all);
  report.memory = deviations(memory);
  report.regret = regret(plans);
}

}  // namespace

std::optional<Pair> RowResult::seconds() const {
  if (!skipped.empty() || !run || !run->measured_s) return std::nullopt;
  return Pair{prediction.step.value, *run->measured_s};
}
std::optional<Pair> RowResult::memory() const {
  if (!skipped.empty() || !run || !run->measured_memory) return std::nullopt;
  const Bytes predicted = run->memory_is_reserved ? prediction.reserved : prediction.allocated;
  return Pair{predicted.value, *run->measured_memory};
}

std::optional<ValidationReport> validate(const CsvTable& table, const Library& library,
                                         const std::shared_ptr<const Calibration>& calibration,
                                         const ValidateOptions& options) {
  ValidationReport report;
  for (RunRow& row : run_rows(table)) report.rows.emplace_back().row = std::move(row);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const unsigned threads = options.threads > 0 ? options.threads : cores;
  const double count = static_cast<double>(std::max<std::size_t>(1, report.rows.size()));
  const bool complete = on_threads(
      report.rows.size(), threads, [&](std::size_t i) { predict_row(report.rows[i], library, calibration); },
      [&](std::size_t done) {
        return !options.progress || options.progress(static_cast<double>(done) / count);
      });
  if (!complete) return std::nullopt;
  summarise(report);
  return report;
}

}  // namespace tandem
