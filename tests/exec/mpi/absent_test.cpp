// Builds without MPI say so.
#include <gmock/gmock.h>

#include "core/problem/problem.h"
#include "exec/mpi/mpi_ranks.h"

namespace tandem {
namespace {

TEST(MpiAbsent, NamesThePackageThatBringsIt) {
  EXPECT_FALSE(mpi_is_built());
  try {
    join_mpi(nullptr, nullptr);
    FAIL();
  } catch (const BackendError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("libopenmpi-dev"));
  }
}

}  // namespace
}  // namespace tandem
