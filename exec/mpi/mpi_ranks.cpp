// Joining and leaving the processes that mpirun started.
#include "exec/mpi/mpi_ranks.h"

#include <mpi.h>

#include <cstdlib>

#include "core/problem/problem.h"
#include "exec/mpi/mpi_call.h"
#include "exec/mpi/mpi_transport.h"

namespace tandem {
namespace {

class JoinedRanks final : public MpiRanks {
 public:
  JoinedRanks(int* argc, char*** argv) {
    int provided = 0;
    mpi_call(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED)
      throw BackendError("MPI_Init_thread: this MPI does not let a thread of its own communicate");
  }
  ~JoinedRanks() override { MPI_Finalize(); }
  JoinedRanks(const JoinedRanks&) = delete;
  JoinedRanks& operator=(const JoinedRanks&) = delete;

  std::uint32_t rank() const override {
    int rank = 0;
    mpi_call(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    return static_cast<std::uint32_t>(rank);
  }
  std::uint32_t ranks() const override {
    int ranks = 0;
    mpi_call(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    return static_cast<std::uint32_t>(ranks);
  }
  std::string machine() const override {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    mpi_call(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    return {name, static_cast<std::size_t>(length)};
  }
  std::unique_ptr<Transport> transport() override { return mpi_transport(MPI_COMM_WORLD); }
  void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::abort();  // MPI_Abort does not return, which its declaration does not say
  }
};

}  // namespace

void mpi_call(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw BackendError(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

bool mpi_is_built() { return true; }
std::unique_ptr<MpiRanks> join_mpi(int* argc, char*** argv) {
  return std::make_unique<JoinedRanks>(argc, argv);
}

}  // namespace tandem
