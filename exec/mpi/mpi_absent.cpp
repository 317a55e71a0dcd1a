// In builds without MPI: says so, with the package that brings it.
#include "core/problem/problem.h"
#include "exec/mpi/mpi_ranks.h"

namespace tandem {

bool mpi_is_built() { return false; }
std::unique_ptr<MpiRanks> join_mpi(int*, char***) {
  throw BackendError(
      "this program is built without MPI ranks (Debian: apt-get install libopenmpi-dev openmpi-bin)");
}

}  // namespace tandem
