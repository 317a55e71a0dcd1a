// tandem calibrate from outside: what it writes is what predictions then take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/record/run_record.h"
#include "tests/end_to_end/program.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

class Calibrate : public ::testing::Test {
 protected:
  Calibrate() {
    std::ofstream(folder_.file("config.json"))
        << R"({"model_type":"gpt2","n_layer":2,"n_embd":64,"n_head":4,"n_positions":64,"vocab_size":200,)"
           R"("resid_pdrop":0.0,"attn_pdrop":0.0,"embd_pdrop":0.0})";
  }
  void SetUp() override {
    if (!std::filesystem::exists(TANDEM_BIN_DIR "/tandem-exec"))
      GTEST_SKIP() << "tandem-exec is not built here";
  }
  Finished call(const std::string& line) const {
    std::istringstream all(line);
    std::vector<std::string> words;
    for (std::string word; all >> word;) words.push_back(word);
    return testing::run("tandem", words, {.folder = folder_.file("")});
  }
  std::string scenario() const {
    return " --model " + folder_.file("config.json") +
           " --cluster cpu-core:2 --dtype fp32 --tp 2 --mbs 1 --gbs 4 --seq-length 32 ";
  }
  // Where the durations of a prediction under this calibration come from.
  std::vector<std::string> origins(const std::string& calibration) const {
    const std::string file = folder_.file("predicted.tandem");
    const Finished predicted =
        call("predict" + scenario() + "--fidelity estimate --calibration " + calibration + " -o " + file);
    EXPECT_EQ(predicted.code, 0) << predicted.error;
    return read_record(file).origins;
  }

  TemporaryFolder folder_;
};

TEST_F(Calibrate, MeasuresWhatAPredictionOfTheSameScenarioNeeds) {
  const std::string file = folder_.file("here.toml");
  const Finished measured = call("calibrate" + scenario() + "--slices 1 -o " + file);
  ASSERT_EQ(measured.code, 0) << measured.error;
  for (const std::string& origin : origins(file))
    EXPECT_THAT(origin, HasSubstr("as measured; tandem calibrate"));
}

TEST_F(Calibrate, TakesWhatARunRecorded) {
  const std::string record = folder_.file("run.tandem"), file = folder_.file("from.toml");
  ASSERT_EQ(call("run" + scenario() + "--steps 3 --warmup 1 --quiet -o " + record).code, 0);
  const Finished taken = call("calibrate --from " + record + " -o " + file);
  ASSERT_EQ(taken.code, 0) << taken.error;
  for (const std::string& origin : origins(file))
    EXPECT_THAT(origin, HasSubstr("as measured; tandem calibrate"));
}

TEST_F(Calibrate, WantsAFileToWrite) {
  const Finished refused = call("calibrate" + scenario());
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.error, HasSubstr("add -o FILE.toml"));
}

}  // namespace
}  // namespace tandem
