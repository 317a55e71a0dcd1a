// Starts the ranks of a run in processes of their own, watches them, and says which one failed and how.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec/run/child_process.h"

namespace tandem {

struct WatchOptions {
  std::vector<std::string> command;  // of the ranks, or of mpirun
  std::size_t ranks = 1;
  bool through_mpirun = false;
  double hang_timeout = 10;  // seconds without progress, or 20 times the longest step if that is longer
  std::function<bool()> interrupted;  // Ctrl-C: rank 0 is told to end after its step
};

struct WatchResult {
  int code = 0;  // of the program, where it ended by itself
  std::string
      failure;  // "rank 1 on host (pid 4711) was killed by signal 9 …": "" when all ranks ended in order
  bool said = false;  // the ranks have said themselves why they failed
};

// Returns once all ranks have ended; none is left, whatever happens. BackendError when they cannot be started.
WatchResult watch_ranks(const WatchOptions&);

// Environment variable by which a rank finds the process that watches it.
inline constexpr const char* watch_variable = "TANDEM_RUN_SOCKET";

}  // namespace tandem
