// Messages over MPI's nonblocking point-to-point calls.
#pragma once
#include <mpi.h>

#include <memory>

#include "exec/communicate/transport.h"

namespace tandem {

// Duplicates `world` and owns the copy; all of its ranks together.
std::unique_ptr<Transport> mpi_transport(MPI_Comm world);

}  // namespace tandem
