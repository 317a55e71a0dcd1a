// fork, exec, and two pipes.
#include "tests/end_to_end/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace tandem::testing {
namespace {

[[noreturn]] void become(const std::string& path, const std::vector<std::string>& arguments, const Start& start,
                         int input, int output, int error) {
  ::dup2(input, STDIN_FILENO);
  ::dup2(error, STDERR_FILENO);
  if (start.closed_output) {
    ::close(STDOUT_FILENO);
  } else if (!start.output_file.empty()) {
    ::dup2(::open(start.output_file.c_str(), O_WRONLY), STDOUT_FILENO);
  } else {
    ::dup2(output, STDOUT_FILENO);
  }
  for (int fd = 3; fd < 64; ++fd) ::close(fd);
  if (start.file_size_limit >= 0) {
    const rlimit limit{static_cast<rlim_t>(start.file_size_limit), static_cast<rlim_t>(start.file_size_limit)};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (!start.folder.empty() && ::chdir(start.folder.c_str()) != 0) ::_exit(126);
  ::unsetenv("NO_COLOR");
  // Open MPI leaks, and unloads the plug-ins that did: nothing of it can be told from our own.
  if (std::find(arguments.begin(), arguments.end(), "--mpi") != arguments.end())
    ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  for (const std::string& each : start.environment) ::putenv(const_cast<char*>(each.c_str()));
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  ::_exit(127);
}

}  // namespace

Finished run(const std::string& program, const std::vector<std::string>& arguments, const Start& start) {
  const std::string path = std::string(TANDEM_BIN_DIR) + "/" + program;
  int input[2], output[2], error[2];
  if (::pipe(input) != 0 || ::pipe(output) != 0 || ::pipe(error) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child == 0) become(path, arguments, start, input[0], output[1], error[1]);
  ::close(input[0]);
  ::close(output[1]);
  ::close(error[1]);
  if (!start.input.empty()) [[maybe_unused]]
    const auto written = ::write(input[1], start.input.data(), start.input.size());
  ::close(input[1]);
  Finished finished;
  int open = 2, waited = 0;
  pollfd streams[2] = {{output[0], POLLIN, 0}, {error[0], POLLIN, 0}};
  while (open > 0) {
    const int step = 10;
    ::poll(streams, 2, step);
    waited += step;
    if (start.interrupt_after_ms >= 0 && waited == start.interrupt_after_ms / step * step)
      ::kill(child, SIGINT);
    for (int i = 0; i < 2; ++i) {
      if (streams[i].fd < 0 || streams[i].revents == 0) continue;
      char block[1 << 14];
      const ssize_t count = ::read(streams[i].fd, block, sizeof block);
      if (count > 0) {
        (i == 0 ? finished.out : finished.error).append(block, static_cast<std::size_t>(count));
      } else {
        ::close(streams[i].fd);
        streams[i].fd = -1;
        --open;
      }
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

}  // namespace tandem::testing
