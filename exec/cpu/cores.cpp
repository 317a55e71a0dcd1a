// The scheduler's masks.
#include "exec/cpu/cores.h"

#include <sched.h>

namespace tandem {

std::vector<int> allowed_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

int own_cores(std::size_t place, std::size_t ranks, int count) {
  const std::vector<int> cores = allowed_cores();
  const auto wanted = static_cast<std::size_t>(count);
  if (cores.size() < ranks * wanted) return -1;
  const std::size_t first = place * wanted;
  return cores[first + wanted - 1] == cores[first] + count - 1 ? cores[first] : -1;
}

void bind_thread(int first_core, int count) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int i = 0; i < count; ++i) CPU_SET(first_core + i, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

}  // namespace tandem
