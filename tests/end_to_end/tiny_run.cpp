// Reads /proc.
#include "tests/end_to_end/tiny_run.h"

#include <iterator>

namespace tandem::testing {
namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::vector<pid_t> processes(const std::string& word, bool watched_alone) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = content(entry.path() / "cmdline");
    if (line.find(word) == std::string::npos) continue;
    const bool watched = content(entry.path() / "environ").find("TANDEM_RUN_SOCKET") != std::string::npos;
    if (!watched_alone || (watched && line.find("mpirun") != 0)) found.push_back(std::stoi(name));
  }
  return found;
}

}  // namespace tandem::testing
