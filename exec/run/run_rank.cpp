// A step of all ranks starts after a barrier and ends in a report; rank 0 says how it goes on.
#include "exec/run/run_rank.h"

#include <algorithm>

#include "exec/communicate/clock_alignment.h"
#include "exec/cpu/cores.h"
#include "exec/cpu/cpu_runtime.h"
#include "exec/run/control.h"
#include "exec/run/process_memory.h"

namespace tandem {
namespace {

constexpr std::uint32_t clock_tag = 1;

class RankRun {
 public:
  RankRun(const RunSetup& setup, Transport& lanes, Transport& control, RunObserver* observer,
          const RankOptions& options)
      : options_(options),
        observer_(observer),
        control_(control),
        state_(setup, RankId(lanes.rank())),
        communicator_(communicate_over(lanes, lane_count, options.core >= 0 ? look_on_own_core : 0)),
        device_(cpu_runtime({options.threads, options.core})) {
    state_.set_memory(device_->allocate(state_.arena_bytes()));
    options_.load ? options_.load(state_) : state_.initialize_parameters();
    program_ = std::make_unique<RankProgram>(state_, *device_, *communicator_, options_.exchanges);
    if (options_.program_ready) options_.program_ready(state_, *program_);
  }

  ~RankRun() {
    if (options_.before_end) options_.before_end();
    communicator_->stop();  // ends the waits of the device's lanes
  }
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;

  void run() {
    if (options_.align_clocks) clocks_.push_back(sample_clock(control_.transport(), clock_tag));
    const std::int64_t end = options_.first_step + options_.steps;
    AfterStep after;
    for (std::int64_t step = options_.first_step; step < end && !after.stop; ++step) {
      report_.step = step;
      run_step();
      after = meet();
      if (after.checkpoint) save();
    }
    if (options_.align_clocks) compare_clocks();
  }

 private:
  void run_step() {
    control_.barrier();
    report_.start = now();
    program_->run_step(report_.step);
    report_.end = now();
    report_.loss = state_.loss;
    report_.gradient_norm = state_.gradient_norm;
    if (options_.step_took) options_.step_took(report_.end - report_.start);
    if (options_.after_step) options_.after_step(state_, *program_);
  }

  AfterStep meet() {
    report_.tasks = program_->times();
    report_.arena_bytes = state_.arena_bytes();
    report_.overflow_bytes = std::max<std::uint64_t>(report_.overflow_bytes, state_.overflow_bytes());
    report_.resident_bytes = most_resident_bytes();
    to_rank_0();
    std::vector<RankReport> all;
    for (const std::vector<std::byte>& bytes : control_.gather(packed(report_))) all.push_back(unpacked(bytes));
    AfterStep after;
    if (observer_) after = observer_->step_done(all);
    const std::uint64_t said = control_.broadcast(after.checkpoint | after.stop << 1);
    return {.checkpoint = (said & 1) != 0, .stop = (said & 2) != 0};
  }

  void to_rank_0() {
    if (clocks_.empty()) return;
    const ClockAlignment clock = align_clock(clocks_);
    report_.start = clock.to_rank_0(report_.start);
    report_.end = clock.to_rank_0(report_.end);
    for (CommunicationTimes& task : report_.tasks)
      task = {clock.to_rank_0(task.start), clock.to_rank_0(task.end)};
  }

  void save() {
    if (options_.save) options_.save(state_);
    control_.barrier();
    if (observer_) observer_->checkpoint_written(report_.step + 1);
  }

  void compare_clocks() {
    const ClockSample first = clocks_.front(), last = sample_clock(control_.transport(), clock_tag);
    const Nanoseconds own[2] = {std::abs(last.offset - first.offset),
                                std::max(first.round_trip, last.round_trip) / 2};
    Nanoseconds most[2] = {0, 0};
    for (const std::vector<std::byte>& bytes : control_.gather(std::as_bytes(std::span(own)))) {
      const auto* others = reinterpret_cast<const Nanoseconds*>(bytes.data());
      for (int i = 0; i < 2; ++i) most[i] = std::max(most[i], others[i]);
    }
    if (observer_) observer_->clocks_compared(most[0], most[1]);
  }

  const RankOptions& options_;
  RunObserver* observer_;
  Control control_;
  RankReport report_;
  std::vector<ClockSample> clocks_;
  RankState state_;
  // Its events are used until the device, whose lanes help the communicator, and then that have ended.
  std::unique_ptr<RankProgram> program_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<DeviceRuntime> device_;
};

}  // namespace

void run_rank(const RunSetup& setup, Transport& lanes, Transport& control, RunObserver* observer,
              const RankOptions& options) {
  // Before any thread of the rank is made: its communication shares the cores of its computation, and not
  // another rank's.
  if (options.core >= 0) bind_thread(options.core, options.threads);
  RankRun(setup, lanes, control, observer, options).run();
}

}  // namespace tandem
