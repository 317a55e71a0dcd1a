// Runs a plan for real: the executor's one public function.
#pragma once
#include <functional>
#include <optional>

#include "exec/exchanges.h"
#include "exec/rank_program.h"
#include "exec/rank_state.h"

namespace tandem {

struct StepResult {
  std::int64_t step = 0;
  double loss = 0, gradient_norm = 0;
};

struct ExecuteOptions {
  std::int64_t steps = 10;
  int threads_per_rank = 1;
  bool bind_cores = false;
  ExchangeOptions exchanges;
  std::function<void(const StepResult&)> on_step = {};
  // Called by each rank after each step, ranks one after another; for tests that look at gradients.
  std::function<void(RankState&, const RankProgram&)> after_rank_step = {};
};

// All ranks as threads of this process.
void execute_threads(const RunSetup&, const ExecuteOptions&);

}  // namespace tandem
