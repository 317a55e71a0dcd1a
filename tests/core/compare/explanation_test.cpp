// What makes a step longer, in words.
#include "core/compare/explanation.h"

#include <gtest/gtest.h>

#include "core/compare/compare.h"
#include "core/compare/measured_steps.h"
#include "tests/core/compare/two_ranks.h"
#include "tests/support/random_record.h"

namespace tandem {
namespace {

using testing::two_ranks;

Comparison measured_as(const testing::StepTimes& times) {
  return compare(two_ranks(), two_ranks({times}, {.backend = "cpu"}));
}
std::string first_reason(const Comparison& comparison) {
  return comparison.explanations.empty() ? "" : text(comparison.explanations.front(), comparison);
}

TEST(Explanation, NamesTheSlowedKindFirst) {
  EXPECT_EQ(first_reason(measured_as({.up = 1.12, .down = 1.01})),
            "forward of mlp.up takes 12 % longer than predicted: +240 ms of +260 ms");
}
TEST(Explanation, NamesWhatIsFaster) {
  EXPECT_EQ(first_reason(measured_as({.gradient = 1.9})),
            "input gradient of mlp.up takes 5.0 % less than predicted: -200 ms of -200 ms");
}
TEST(Explanation, NamesExposedCommunicationAndTheKindBehindIt) {
  EXPECT_EQ(first_reason(measured_as({.exchange = 7.5})),
            "exposed dp communication takes 2.5 times as long as predicted: +4.5 s of +4.5 s "
            "(gradients.all_reduce +4.5 s on the wires)");
}
TEST(Explanation, OfTwoPlansSpeaksOfAAndB) {
  EXPECT_EQ(first_reason(compare(two_ranks(), two_ranks({{.optimizer = 0.75}}))),
            "the optimizer takes 50 % longer in B: +250 ms of +250 ms");
}
TEST(Explanation, SaysWhatOnlyOneRunHas) {
  RunRecord without = two_ranks();
  std::erase_if(without.spans,
                [&](const RecordSpan& span) { return without.tasks[span.task].label == "optimizer"; });
  const Comparison comparison = compare(without, two_ranks({{}}, {.backend = "cpu"}));
  std::vector<std::string> all;
  for (const Explanation& explanation : comparison.explanations) all.push_back(text(explanation, comparison));
  EXPECT_EQ(std::count(all.begin(), all.end(), "the optimizer was not predicted: +500 ms of +500 ms"), 1);
}
TEST(Explanation, ChangesAddUpToTheDifferenceOfTheSteps) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    RunRecord a = testing::random_record(seed), b = testing::random_record(seed + 100);
    // Medians of one step are its values; those of several need not add up.
    if (measured_steps(a).size() > 1 || measured_steps(b).size() > 1) continue;
    const Comparison comparison = compare(a, b);
    Seconds sum;
    for (const Explanation& explanation : comparison.explanations) sum += explanation.time.change();
    EXPECT_NEAR(sum.value, comparison.step.change().value, 1e-7 * comparison.step.b.median.value) << seed;
  }
}
TEST(Explanation, LargestChangeComesFirst) {
  const Comparison comparison = compare(testing::random_record(3), testing::random_record(4));
  for (std::size_t i = 1; i < comparison.explanations.size(); ++i)
    EXPECT_GE(std::fabs(comparison.explanations[i - 1].time.change().value),
              std::fabs(comparison.explanations[i].time.change().value));
}

}  // namespace
}  // namespace tandem
