// Switches of Open MPI 4.1.
#include "exec/run/mpirun.h"

#include <sys/uio.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace tandem {
namespace {

// Copies straight from another process' memory: refused by containers without ptrace, and by Yama between
// siblings.
bool reads_other_processes() {
  char from = 1, to = 0;
  const iovec local{&to, 1}, remote{&from, 1};
  if (::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) != 1) return false;
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  return scope == 0;
}

}  // namespace

std::vector<std::string> mpirun_command(std::size_t ranks, int threads, const std::string& variable,
                                        const std::vector<std::string>& program) {
  std::vector<std::string> words = {"mpirun", "--quiet", "-n", std::to_string(ranks), "--bind-to", "none"};
  const auto add = [&](std::initializer_list<const char*> more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  if (::geteuid() == 0) add({"--allow-run-as-root"});
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  if (ranks > cores) add({"--oversubscribe"});
  // A rank computes and communicates by two threads; who waits must leave the core to who computes.
  if (ranks * static_cast<std::size_t>(std::max(threads, 1) + 1) > cores)
    add({"--mca", "mpi_yield_when_idle", "1"});
  // When a rank dies the others end at once, not a second later.
  add({"--mca", "odls_base_sigkill_timeout", "0"});
  if (!reads_other_processes()) add({"--mca", "btl_vader_single_copy_mechanism", "none"});
  words.insert(words.end(), {"-x", variable});
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

}  // namespace tandem
