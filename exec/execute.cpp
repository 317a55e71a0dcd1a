// Ranks as threads of one process, watched by callbacks.
#include "exec/execute.h"

#include <mutex>

#include "exec/run/run_threads.h"

namespace tandem {
namespace {

class Callbacks : public RunObserver {
 public:
  explicit Callbacks(const ExecuteOptions& options) : options_(options) {}

  AfterStep step_done(const std::vector<RankReport>& ranks) override {
    StepResult result{ranks[0].step, 0, ranks[0].gradient_norm};
    for (const RankReport& rank : ranks) result.loss += rank.loss;
    if (options_.on_step) options_.on_step(result);
    return {};
  }
  void after_rank(RankState& state, const RankProgram& program) {
    const std::lock_guard lock(mutex_);
    options_.after_rank_step(state, program);
  }

 private:
  const ExecuteOptions& options_;
  std::mutex mutex_;
};

}  // namespace

void execute_threads(const RunSetup& setup, const ExecuteOptions& options) {
  Callbacks callbacks(options);
  run_threads(setup, callbacks, [&](RankId rank) {
    RankOptions own{
        .steps = options.steps, .threads = options.threads_per_rank, .exchanges = options.exchanges};
    if (options.bind_cores) own.core = static_cast<int>(rank.value) * options.threads_per_rank;
    if (options.after_rank_step)
      own.after_step = [&](RankState& state, const RankProgram& program) {
        callbacks.after_rank(state, program);
      };
    return own;
  });
}

}  // namespace tandem
