// How ranks are started on this machine by Open MPI's mpirun.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace tandem {

// mpirun with the switches that this machine needs, then the program's own words. `variable` is handed on to
// the ranks. `threads`: of each rank, 0: as many as there are cores for it.
std::vector<std::string> mpirun_command(std::size_t ranks, int threads, const std::string& variable,
                                        const std::vector<std::string>& program);

}  // namespace tandem
