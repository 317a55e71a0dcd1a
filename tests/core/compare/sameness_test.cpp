// Whether two headers describe one run.
#include "core/compare/sameness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

RecordHeader header(const std::string& scenario) {
  RecordHeader header;
  header.scenario = scenario;
  header.scenario_digest = "digest of " + scenario;
  header.model = "gpt2";
  header.plan = "dp 2";
  return header;
}

TEST(Sameness, IsOfScenarioModelClusterAndPlan) {
  const Sameness same = sameness(header("[plan]\ndp = 2\n"), header("[plan]\ndp = 2\n"));
  EXPECT_TRUE(same.scenario);
  EXPECT_TRUE(same.plan);
  EXPECT_TRUE(same.settings.empty());
}
TEST(Sameness, NamesTheSettingsThatDiffer) {
  const Sameness same = sameness(header("[plan]\ntp = 2\nzero = 1\n\n[simulation]\nseed = 1\n"),
                                 header("[plan]\ntp = 4\n\n[simulation]\nseed = 1\n"));
  EXPECT_FALSE(same.scenario);
  EXPECT_THAT(same.settings,
              ::testing::ElementsAre(Setting{"plan.tp", "2", "4"}, Setting{"plan.zero", "1", ""}));
}
TEST(Sameness, TellsRepeatedSectionsApart) {
  const Sameness same = sameness(header("[[node]]\ncount = 1\n[[node]]\ncount = 2\n"),
                                 header("[[node]]\ncount = 1\n[[node]]\ncount = 3\n"));
  EXPECT_THAT(same.settings, ::testing::ElementsAre(Setting{"node 2.count", "2", "3"}));
}
TEST(Sameness, IsNotKnownWithoutAScenario) { EXPECT_FALSE(sameness({}, {}).scenario); }

}  // namespace
}  // namespace tandem
