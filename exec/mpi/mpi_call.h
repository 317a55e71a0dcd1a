// A call of MPI that must succeed.
#pragma once
#include <mpi.h>

namespace tandem {

// BackendError with the call's name and MPI's text, unless the code says success.
void mpi_call(int code, const char* call);

}  // namespace tandem
