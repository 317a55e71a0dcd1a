// Ranks that are threads of one process call kernels at the same time, each with a team of its own.
#include "exec/cpu/kernels/threads.h"

#include <array>
#include <thread>

#include "exec/cpu/kernels/gemm.h"
#include "exec/cpu/kernels/norm.h"
#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {
namespace {

std::vector<float> product_and_norm() {
  constexpr std::int64_t rows = 300, width = 128;
  const std::vector<float> x = random_values(rows * width, 1), w = random_values(width * width, 2);
  std::vector<float> y = filled<float>(rows * width), result = y;
  Scratch scratch;
  linear_forward<float>(dense(x.data(), rows, width), dense(w.data(), width, width), nullptr,
                        dense(y.data(), rows, width), scratch);
  norm_forward<float>({.rows = rows, .width = width}, y.data(), w.data(), nullptr, result.data());
  return result;
}

TEST(Teams, OfSeveralCallersDoNotDisturbOneAnother) {
  const std::vector<float> expected = product_and_norm();
  std::array<int, 3> equal = {};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&, rank] {
      set_team_threads(1 + rank);
      for (int i = 0; i < 20; ++i) equal[rank] += product_and_norm() == expected && team_threads() == 1 + rank;
    });
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(equal, (std::array<int, 3>{20, 20, 20}));
}
TEST(FlushDenormals, HoldsInTheCallingThread) {
  std::thread([] {
    flush_denormals();
    volatile float least = 1.2e-38f;
    EXPECT_EQ(least * 0.5f, 0);
  }).join();
}

}  // namespace
}  // namespace tandem::cpu
