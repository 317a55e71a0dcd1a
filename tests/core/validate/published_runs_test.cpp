// The guard: medians of the shipped table stay where they were stored.
#include <gtest/gtest.h>

#include <map>

#include "core/validate/validation_report.h"

namespace tandem {
namespace {

const std::string scenarios = TANDEM_SOURCE_DIR "/scenarios";
constexpr double points_allowed = 1;  // per cent

ValidationReport validated(const CsvTable& rows) {
  return *validate(rows, read_library(scenarios), read_calibration(scenarios + "/calibrations"), {});
}

TEST(PublishedRuns, NoSetIsPredictedWorseThanStored) {
  const ValidationReport report = validated(read_csv(scenarios + "/published/runs.csv"));
  const CsvTable stored = read_csv(scenarios + "/published/deviations.csv");
  std::map<std::string, double> limits;
  for (const CsvTable::Row& row : stored.rows)
    limits[std::string(stored.cell(row, "set"))] = std::stod(std::string(stored.cell(row, "median_per_cent")));
  for (const SetReport& set : report.sets) {
    ASSERT_TRUE(limits.contains(set.set)) << set.set << " has no stored deviation";
    EXPECT_LE(100 * set.time.median_abs, limits[set.set] + points_allowed) << set.set << "\n"
                                                                           << validation_text(report);
  }
}

TEST(PublishedRuns, KorthikantisTableIsPredictedWithinEightPerCent) {
  CsvTable table = read_csv(scenarios + "/published/runs.csv");
  std::erase_if(table.rows, [&](const CsvTable::Row& row) {
    return !std::string(table.cell(row, "id")).starts_with("korthikanti-t5-");
  });
  const ValidationReport report = validated(table);
  for (const RowResult& result : report.rows)
    EXPECT_NEAR(result.seconds()->deviation(), 0, 0.08) << result.row.id;
  EXPECT_EQ(report.rows.size(), 8u);
}

}  // namespace
}  // namespace tandem
