// The OpenMP team that kernels called from this thread run on. Results do not depend on its size.
#pragma once

namespace tandem::cpu {

// For the calling thread alone, so that ranks that are threads of one process have teams of their own.
void set_team_threads(int threads);
int team_threads();

// Denormals read and written as zero (FTZ, DAZ) from here on in the calling thread: they cost a factor of ten
// and more. The threads of a team do so by themselves; who computes without kernels, or between them, calls
// this first.
void flush_denormals();

}  // namespace tandem::cpu
