// tandem calibrate from outside: what it writes is what predictions then take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/record/run_record.h"
#include "tests/end_to_end/tiny_run.h"

namespace tandem {
namespace {

using testing::Finished;
using ::testing::HasSubstr;

class Calibrate : public testing::TinyRun {
 protected:
  std::string scenario() const { return TinyRun::scenario() + "--tp 2 "; }
  // Where the durations of a prediction under this calibration come from.
  std::vector<std::string> origins(const std::string& calibration) const {
    const std::string file = folder_.file("predicted.tandem");
    const Finished predicted =
        call("predict" + scenario() + "--fidelity estimate --calibration " + calibration + " -o " + file);
    EXPECT_EQ(predicted.code, 0) << predicted.error;
    return read_record(file).origins;
  }
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

TEST_F(Calibrate, RefusesToMeasureInOneWayAndToTakeARecord) {
  for (const char* how : {"--slices 3", "--pace 1GB/s,5us", "--threads-per-rank 1"}) {
    const Finished refused = call(std::string("calibrate --from run.tandem -o from.toml ") + how);
    EXPECT_EQ(refused.code, 2) << how;
    EXPECT_THAT(refused.error, HasSubstr("--from measures nothing"));
  }
}

TEST_F(Calibrate, AtAPaceTakesThePacesTime) {
  const std::string file = folder_.file("paced.toml");
  ASSERT_EQ(call("calibrate" + scenario() + "--slices 1 --pace 1GB/s,2ms -o " + file).code, 0);
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  double share = 1;
  EXPECT_EQ(std::sscanf(text.c_str() + text.find("communication = "), "communication = %lf", &share), 1);
  EXPECT_LT(share, 0.5);
  const Finished refused = call("calibrate --pace fast -o " + file + scenario());
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.error, HasSubstr("as 10GB/s,5us"));
}

TEST_F(Calibrate, WantsAFileToWrite) {
  const Finished refused = call("calibrate" + scenario());
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.error, HasSubstr("add -o FILE.toml"));
}

}  // namespace
}  // namespace tandem
