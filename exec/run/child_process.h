// A program that this one starts, leads by signals and waits for.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tandem {

// How it ended: exit code, or the signal that killed it.
struct ChildEnd {
  int code = 0, signal = 0;
  // As a shell says it: 128 + signal. mpirun answers so for its ranks.
  int shell_code() const { return signal != 0 ? 128 + signal : code; }
};

class ChildProcess {
 public:
  // `environment`: "NAME=value", added to this process'. In a group of its own, so that Ctrl-C on the terminal
  // does not reach it; when this process dies it gets `at_our_end`. BackendError when it cannot be started.
  ChildProcess(const std::vector<std::string>& arguments, const std::string& environment, int at_our_end);
  ~ChildProcess();  // kills what still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  std::optional<ChildEnd> ended();  // once it has; does not wait
  void signal(int number);          // to it and its group, while it runs

 private:
  pid_t pid_ = -1;
  std::optional<ChildEnd> end_;
};

}  // namespace tandem
