// The only place that asks OpenMP's library: team size, place in it, and the floating-point mode of its
// threads.
#include "exec/cpu/kernels/threads.h"

#include <omp.h>

#include "exec/cpu/kernels/parallel.h"

namespace tandem::cpu {

void set_team_threads(int threads) { omp_set_num_threads(threads); }
int team_threads() { return omp_get_max_threads(); }
int team_place() { return omp_get_thread_num(); }

void flush_denormals() {
#if defined(__SSE__)
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | flush_to_zero | denormals_are_zero);
#endif
}

}  // namespace tandem::cpu
