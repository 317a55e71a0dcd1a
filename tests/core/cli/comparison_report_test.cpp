// What a person and a program read of a comparison.
#include "core/cli/comparison_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/cli/comparison_cells.h"
#include "core/compare/compare.h"
#include "core/compare/explanation.h"
#include "tests/core/compare/two_ranks.h"
#include "tests/support/random_record.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::two_ranks;

std::string report(const Comparison& comparison, std::size_t top = 10) {
  Output out(false);
  write_comparison(comparison, {.file_a = "a.tandem", .file_b = "b.tandem", .top = top}, out);
  return out.text();
}
RunRecord measured(const std::vector<testing::StepTimes>& steps, std::uint32_t warmup = 0) {
  return two_ranks(steps, {.warmup = warmup, .backend = "cpu"});
}

TEST(ComparisonReport, SaysWhatWasPredictedAndMeasured) {
  const std::string text = report(compare(two_ranks(), measured({{.up = 1.25}})));
  EXPECT_THAT(text, HasSubstr("step  predicted 11.5 s   measured 12 s   deviation -4.2 %\n"));
  EXPECT_THAT(text, HasSubstr("  +500 ms  100 %  forward of mlp.up takes 25 % longer than predicted\n"));
}
TEST(ComparisonReport, OfARecordWithItselfFindsNoDifference) {
  const std::string text = report(compare(two_ranks(), two_ranks()));
  EXPECT_THAT(text, HasSubstr("no difference"));
  EXPECT_THAT(text, Not(HasSubstr("what the difference is made of")));
}
TEST(ComparisonReport, MarksWhatIsNoLargerThanTheSpreadOfTheSteps) {
  const std::string text =
      report(compare(two_ranks(), measured({{}, {.up = 1.1}, {.up = 0.8}, {.up = 1.05}}, 1)));
  EXPECT_THAT(text, HasSubstr("3 steps after 1 of warm-up"));
  EXPECT_THAT(text, HasSubstr("-0.9 %  ~\n"));
  EXPECT_THAT(text, HasSubstr("~ no more than the steps of one run differ among themselves"));
}
TEST(ComparisonReport, ListsTasksOfOneRecordByKind) {
  RunRecord without = measured({{}});
  std::erase_if(without.spans,
                [&](const RecordSpan& span) { return without.tasks[span.task].label == "optimizer"; });
  const std::string text = report(compare(two_ranks(), without));
  EXPECT_THAT(text, HasSubstr("14 in both, 2 in A alone, 0 in B alone"));
  EXPECT_THAT(text, HasSubstr("optimizer  update  compute      2      2"));
}
TEST(ComparisonReport, ShowsAsMuchAsIsAskedFor) {
  const Comparison comparison = compare(testing::random_record(3), testing::random_record(4));
  ASSERT_GT(comparison.explanations.size(), 3u);
  const std::string text = report(comparison, 3);
  EXPECT_THAT(text, HasSubstr(reason(comparison.explanations[2], comparison)));
  EXPECT_THAT(text, Not(HasSubstr(reason(comparison.explanations[3], comparison))));
  EXPECT_THAT(text, HasSubstr("  all others\n"));
}
TEST(ComparisonReport, HoldsPredictedAgainstMeasuredResidentMemory) {
  RunRecord a = two_ranks(), b = measured({{}});
  a.memory = b.memory = {{RankId(0), Seconds(0), {}}};
  a.summary["resident_gib"] = 1.5;
  b.summary["resident_gib"] = 1.25;
  EXPECT_THAT(report(compare(a, b)), ::testing::ContainsRegex("process, resident +1.5 GiB +1.25 GiB +.20.0 %"));
}
TEST(ComparisonReport, FitsAHundredColumns) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::istringstream lines(report(compare(testing::random_record(seed), testing::random_record(seed + 50))));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 100u) << line;
  }
}
TEST(ComparisonJson, HasSecondsFractionsAndWhatIsMissingAsNull) {
  RunRecord a = two_ranks();
  a.header.notes["x"] = "y";
  const auto json = nlohmann::json::parse(comparison_json(compare(a, measured({{.up = 1.25}})), "a", "b"));
  EXPECT_DOUBLE_EQ(json["step_time_s"]["a"].get<double>(), 11.5);
  EXPECT_DOUBLE_EQ(json["step_time_s"]["deviation"].get<double>(), -0.5 / 12);
  EXPECT_EQ(json["a"]["role"], "prediction");
  EXPECT_EQ(json["b"]["role"], "measurement");
  EXPECT_EQ(json["explanations"][0]["name"], "mlp.up");
  EXPECT_DOUBLE_EQ(json["explanations"][0]["change_s"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(json["axes"]["dp"]["exposed_s"]["a"].get<double>(), 3);
  EXPECT_TRUE(json["memory"]["peak_bytes"]["a"].is_null());
  EXPECT_EQ(json["tasks"]["matched"], 16);
}
TEST(ComparisonCells, SayWhichRunAloneHasATime) {
  const Sampled<Seconds> some{Seconds(1), {}, 1}, none{{}, {}, 1}, absent;
  EXPECT_EQ(deviation_text(Compared<Seconds>{some, none}), "A alone");
  EXPECT_EQ(deviation_text(Compared<Seconds>{absent, some}), "B alone");
  EXPECT_EQ(deviation_text(Compared<Seconds>{none, absent}), "-");
}
TEST(ComparisonCells, AreShortAndSigned) {
  EXPECT_EQ(ratio_text(0.1234), "+12.3 %");
  EXPECT_EQ(ratio_text(-0.0001), "-0.0 %");
  EXPECT_EQ(ratio_text(0), "0 %");
  EXPECT_EQ(ratio_text(12.34), "+1,234 %");
  EXPECT_EQ(shortened("µµµµ", 3), "µµ…");
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(counts_text(2, 2), "2");
  EXPECT_EQ(counts_text(2, 2.5), "2 | 2.5");
}

}  // namespace
}  // namespace tandem
