// tandem compare from outside: two predictions written and held against each other, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/end_to_end/program.h"
#include "tests/support/temporary_folder.h"

namespace tandem {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using testing::run;

// Two plans of one model, predicted once for all tests.
class CompareCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new testing::TemporaryFolder;
    const auto predict = [](const std::string& file, const std::vector<std::string>& plan) {
      std::vector<std::string> words{"predict", "llama-3.1-8b-2xdgx-h100", "--fidelity", "estimate", "-o",
                                     file};
      words.insert(words.end(), plan.begin(), plan.end());
      ASSERT_EQ(run("tandem", words).code, 0);
    };
    predict(file("tp2"), {"--gbs", "32"});
    predict(file("tp4"), {"--gbs", "32", "--tp", "4", "--pp", "2"});
  }
  static void TearDownTestSuite() { delete folder; }
  static std::string file(const std::string& plan) { return folder->file(plan + ".tandem"); }
  static Finished compare(const std::vector<std::string>& words) {
    std::vector<std::string> all{"compare"};
    all.insert(all.end(), words.begin(), words.end());
    return run("tandem", all);
  }
  static testing::TemporaryFolder* folder;
};
testing::TemporaryFolder* CompareCommand::folder = nullptr;

TEST_F(CompareCommand, SaysWhatAPlanChanges) {
  const Finished done = compare({file("tp2"), file("tp4")});
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_EQ(done.error, "");
  EXPECT_THAT(done.out, HasSubstr("plan.tensor_model_parallel_size"));
  EXPECT_THAT(done.out, HasSubstr("what the difference is made of"));
  EXPECT_THAT(done.out, HasSubstr("pipeline bubble"));
}
TEST_F(CompareCommand, FindsNoDifferenceOfARecordFromItself) {
  const Finished done = compare({file("tp2"), file("tp2")});
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_THAT(done.out, HasSubstr("no difference"));
  EXPECT_THAT(done.out, HasSubstr(" 0 in A alone, 0 in B alone"));
}
TEST_F(CompareCommand, PrintsJson) {
  const Finished done = compare({file("tp2"), file("tp4"), "--json"});
  ASSERT_EQ(done.code, 0) << done.error;
  EXPECT_THAT(done.out, HasSubstr("\"step_time_s\""));
}
TEST_F(CompareCommand, RefusesWhatIsNoPairOfRecordsWithOneMessage) {
  std::ofstream(folder->file("text.tandem")) << "no record";
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {file("tp2")},
                                                {file("tp2"), file("tp4"), file("tp2")},
                                                {file("tp2"), folder->file("absent.tandem")},
                                                {folder->file("text.tandem"), file("tp2")},
                                                {file("tp2"), folder->path()},
                                                {file("tp2"), file("tp4"), "--top", "0"},
                                                {file("tp2"), file("tp4"), "--topp", "3"}}) {
    const Finished done = compare(words);
    EXPECT_EQ(done.code, 2) << done.error;
    EXPECT_EQ(done.out, "");
    EXPECT_FALSE(done.error.empty());
    EXPECT_EQ(done.error.find("internal"), std::string::npos) << done.error;
  }
}

}  // namespace
}  // namespace tandem
