// The rules themselves: a new folder or a new library gets its line here, and in core/README.md.
#include "tests/architecture/include_table.h"

namespace tandem {

const std::vector<FolderRule>& folder_rules() {
  static const std::vector<FolderRule> rules = {
      {"core/units", {}},
      {"core/problem", {"core/units"}},
      {"core/model", {"core/problem"}},
      {"core/cluster", {"core/problem"}},
      {"core/collective", {"core/problem"}},
      {"core/plan", {"core/model"}},
      {"core/task", {"core/plan", "core/collective"}},
      {"core/lower", {"core/task"}},
      {"core/dataflow", {"core/lower"}},
      {"core/cost", {"core/task", "core/cluster", "core/collective"}},
      {"core/record", {"core/task", "core/cluster"}},
      {"core/estimate", {"core/cost", "core/record"}},
      {"core/compare", {"core/cost", "core/record"}},
      {"core/search", {"core/estimate", "core/plan"}},
      {"core/scenario", {"core/model", "core/plan", "core/cluster", "core/cost"}},
      {"core/validate", {"core/scenario", "core/lower", "core/estimate"}},
      {"core/cli",
       {"core/dataflow", "core/estimate", "core/compare", "core/search", "core/scenario", "core/validate"}},
      {"sim", {"core/cli"}},
      {"exec", {"core/cli"}},
      {"gui", {"core/cli"}},
      {"tests", {"sim", "exec", "gui"}},
  };
  return rules;
}

const std::vector<ForeignRule>& foreign_rules() {
  static const std::vector<ForeignRule> rules = {
      {"[a-z_0-9]+", {}},                                                // the standard library
      {"(unistd|fcntl|signal|spawn|poll|dlfcn|malloc)\\.h|sys/.*", {}},  // POSIX and glibc
      {"fmt/.*", {}},
      {"boost/.*", {"core"}},
      {"toml\\+\\+/.*", {"core/cluster", "core/cost", "core/scenario"}},
      {"nlohmann/.*",
       {"core/model", "core/record", "core/scenario", "core/validate", "core/cli", "exec/training"}},
      {"sqlite3\\.h", {"core/record"}},
      {"(simgrid|xbt)/.*", {"sim/*.cpp"}},
      {"omp\\.h|sched\\.h|linux/futex\\.h", {"exec"}},
      {"(mpi|nccl|nvml|cudnn|cublas|cuda)[a-zA-Z_]*(\\.h|/.*)|oneapi/.*|dnnl.*", {"exec"}},
      {"Q[A-Za-z]+(/.*)?", {"gui"}},
      {"(gtest|gmock)/.*", {"tests"}},
      {"benchmark/.*", {"tests/benchmarks"}},
  };
  return rules;
}

std::set<std::string> allowed_folders(const std::string& folder, const std::vector<FolderRule>& rules) {
  std::set<std::string> allowed;
  std::vector<std::string> open = {folder};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    for (const FolderRule& rule : rules) {
      if (rule.folder != next || !allowed.insert(next).second) continue;
      open.insert(open.end(), rule.includes.begin(), rule.includes.end());
    }
  }
  return allowed;
}

}  // namespace tandem
