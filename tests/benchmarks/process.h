// Runs a command as a process of its own and measures it: wall time, processor time, peak memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

struct ProcessRun {
  double wall_s = 0;
  double cpu_s = 0;             // user and system, with children it waited for
  std::int64_t peak_bytes = 0;  // resident set of the largest process: the command, or a child it waited for
  int exit_code = 0;            // 128 + signal when it was killed
  std::string errors;           // the end of its standard error
};

// Standard output is thrown away. Throws std::system_error when the command cannot be started.
ProcessRun run_process(const std::vector<std::string>& command);

}  // namespace tandem
