// What a process of ranks holds, predicted and measured.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/record/run_record.h"
#include "tests/end_to_end/program.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Arenas of 100 MiB and more, of which parameters and their optimizer state take most: steps are short.
class ResidentMemory : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "the address sanitizer's shadow and quarantine are resident as well";
#endif
    if (!fs::exists(TANDEM_BIN_DIR "/tandem-exec")) GTEST_SKIP() << "tandem-exec is not built here";
    std::ofstream(folder_.file("config.json"))
        << R"({"model_type":"gpt2","n_layer":3,"n_embd":384,"n_head":6,"n_positions":64,"vocab_size":10240,)"
           R"("resid_pdrop":0.0,"attn_pdrop":0.0,"embd_pdrop":0.0})";
  }

  RunRecord record(const std::string& command, const std::vector<std::string>& more) const {
    std::vector<std::string> words{command,
                                   "--model",
                                   folder_.file("config.json"),
                                   "--cluster",
                                   "cpu-core:2",
                                   "--dtype",
                                   "fp32",
                                   "--mbs",
                                   "1",
                                   "--gbs",
                                   "4",
                                   "-o",
                                   folder_.file("record.tandem")};
    words.insert(words.end(), {"--seq-length", "64"});
    words.insert(words.end(), more.begin(), more.end());
    const testing::Finished done = testing::run("tandem", words);
    EXPECT_EQ(done.code, 0) << done.error;
    return read_record(folder_.file("record.tandem"));
  }
  void expect_predicted(std::vector<std::string> plan) const {
    plan.insert(plan.end(), {"--fidelity", "estimate"});
    const RunRecord predicted = record("predict", plan);
    plan.resize(plan.size() - 2);
    plan.insert(plan.end(), {"--steps", "2", "--warmup", "1", "--threads-per-rank", "1", "--quiet"});
    const RunRecord measured = record("run", plan);
    EXPECT_EQ(predicted.summary.at("arena_gib"), measured.summary.at("arena_gib"));
    EXPECT_GE(predicted.summary.at("arena_gib") * 1024, 100);
    const double deviation = predicted.summary.at("resident_gib") / measured.summary.at("resident_gib") - 1;
    EXPECT_LE(std::fabs(deviation), 0.1) << measured.summary.at("resident_gib") * 1024 << " MiB measured";
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ResidentMemory, OfDataParallelRanksIsPredictedWithinATenth) { expect_predicted({"--dp", "2"}); }
TEST_F(ResidentMemory, OfShardedRanksIsPredictedWithinATenth) {
  expect_predicted({"--dp", "2", "--zero-stage", "3"});
}

}  // namespace
}  // namespace tandem
