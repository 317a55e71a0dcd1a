// Ranks as processes that mpirun started. No MPI type appears here, so that callers build without it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "exec/communicate/transport.h"

namespace tandem {

bool mpi_is_built();

// Initialises MPI; its destructor finalises it. One a process, made by main. Calls of the transport may come
// from another thread, one at a time (MPI_THREAD_SERIALIZED).
class MpiRanks {
 public:
  virtual ~MpiRanks() = default;
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;
  virtual std::string machine() const = 0;  // the node's name
  // On a communicator of its own, made by all ranks together. Giving up does not reach other ranks: end the
  // process by abort().
  virtual std::unique_ptr<Transport> transport() = 0;
  [[noreturn]] virtual void abort(int exit_code) = 0;
};
// BackendError where MPI is not built, with the package that brings it.
std::unique_ptr<MpiRanks> join_mpi(int* argc, char*** argv);

}  // namespace tandem
