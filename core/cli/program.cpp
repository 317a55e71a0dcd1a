// The one place that reads environment variables and deals with signals.
#include "core/cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <malloc.h>
#include <cerrno>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/problem/problem.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t ctrl_c = 0;

void on_ctrl_c(int) {
  if (ctrl_c != 0) ::_exit(exit_interrupted);
  ctrl_c = 1;
}

fs::path own_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

std::string scenarios_folder() {
  if (std::string said = variable("TANDEM_SCENARIOS"); !said.empty()) return said;
  std::error_code error;
  const fs::path installed = own_folder().parent_path() / "share" / "tandem" / "scenarios";
  return fs::is_directory(installed, error) ? installed.string() : TANDEM_SOURCE_SCENARIOS;
}

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20) return size.ws_col;
  return 100;
}

}  // namespace

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string own_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

void prepare_process() {
#ifdef __GLIBC__
  // A prediction frees large tables and soon takes as large ones: keep the pages, whose faults cost more than
  // they save.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
  // Standard output that was closed is opened for reading: writing to it then fails as it must.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF) [[maybe_unused]]
      const int opened = ::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  std::signal(SIGPIPE, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = on_ctrl_c;
  ::sigaction(SIGINT, &action, nullptr);
  // A file-size limit is an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() { return ctrl_c != 0; }

Surroundings surroundings() {
  return {.scenarios = scenarios_folder(),
          .colour_allowed = variable("NO_COLOR").empty() && variable("TERM") != "dumb",
          .output_is_terminal = ::isatty(STDOUT_FILENO) == 1,
          .messages_are_terminal = ::isatty(STDERR_FILENO) == 1,
          .columns = terminal_columns()};
}

void start_sibling(const std::string& program, char** argv, const std::string& without) {
  const fs::path path = own_folder() / program;
  std::error_code error;
  if (!fs::exists(path, error))
    throw BackendError(fmt::format("{} is not there, so {}", path.string(), without));
  ::execv(path.c_str(), argv);
  throw BackendError(fmt::format("{} cannot be started: {}", path.string(), std::strerror(errno)));
}

}  // namespace tandem
