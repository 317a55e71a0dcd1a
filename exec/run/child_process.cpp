// fork, exec, waitpid.
#include "exec/run/child_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/problem/problem.h"

namespace tandem {
namespace {

constexpr int not_started = 127;

[[noreturn]] void become(std::vector<char*>& arguments, char* environment, int at_our_end, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, at_our_end);
  if (::getppid() != parent) ::_exit(not_started);  // it died before the line above
  ::putenv(environment);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(not_started);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const std::string& environment,
                           int at_our_end) {
  std::vector<std::string> own = arguments;
  std::string variable = environment;
  std::vector<char*> words;
  for (std::string& word : own) words.push_back(word.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw BackendError(fmt::format("fork: {}", std::strerror(errno)));
  if (pid_ == 0) become(words, variable.data(), at_our_end, parent);
  ::setpgid(pid_, pid_);
}

ChildProcess::~ChildProcess() {
  if (ended()) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::optional<ChildEnd> ChildProcess::ended() {
  int status = 0;
  if (end_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return end_;
  end_ = WIFSIGNALED(status) ? ChildEnd{0, WTERMSIG(status)} : ChildEnd{WEXITSTATUS(status), 0};
  return end_;
}

void ChildProcess::signal(int number) {
  if (!end_ && ::kill(-pid_, number) != 0) ::kill(pid_, number);
}

}  // namespace tandem
