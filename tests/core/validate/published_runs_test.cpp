// The guard: medians of the shipped table stay where they were stored.
#include <gtest/gtest.h>

#include <map>

#include "core/validate/validation_report.h"

namespace tandem {
namespace {

const std::string scenarios = TANDEM_SOURCE_DIR "/scenarios";
constexpr double points_allowed = 1;  // per cent

const ValidationReport& report() {
  static const ValidationReport made =
      *validate(read_csv(scenarios + "/published/runs.csv"), read_library(scenarios),
                read_calibration(scenarios + "/calibrations"), {});
  return made;
}

// Numbers are the same; what plays rows runs under the sanitizers in the tests of validate().
void skip_if_instrumented() {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "minutes when instrumented";
#endif
}

TEST(PublishedRuns, NoSetIsPredictedWorseThanStored) {
  skip_if_instrumented();
  if (testing::Test::IsSkipped()) return;
  const CsvTable stored = read_csv(scenarios + "/published/deviations.csv");
  std::map<std::string, double> limits;
  for (const CsvTable::Row& row : stored.rows)
    limits[std::string(stored.cell(row, "set"))] = std::stod(std::string(stored.cell(row, "median_per_cent")));
  for (const SetReport& set : report().sets) {
    ASSERT_TRUE(limits.contains(set.set)) << set.set << " has no stored deviation";
    EXPECT_LE(100 * set.time.median_abs, limits[set.set] + points_allowed) << set.set << "\n"
                                                                           << validation_text(report());
  }
}

TEST(PublishedRuns, KorthikantisTableIsPredictedWithinEightPerCent) {
  skip_if_instrumented();
  if (testing::Test::IsSkipped()) return;
  std::size_t rows = 0;
  for (const RowResult& result : report().rows) {
    if (result.row.set != "korthikanti-t5") continue;
    ++rows;
    EXPECT_NEAR(result.seconds()->deviation(), 0, 0.08) << result.row.id;
  }
  EXPECT_EQ(rows, 8u);
}

}  // namespace
}  // namespace tandem
