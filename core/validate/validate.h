// Holds predictions against a table of published runs.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/calibration.h"
#include "core/validate/deviation.h"
#include "core/validate/predict_case.h"
#include "core/validate/regret.h"

namespace tandem {

// A row and what became of it.
struct RowResult {
  RunRow row;
  std::optional<RunCase> run;
  std::string skipped;  // the reason; empty for rows that were predicted
  CasePrediction prediction;
  std::optional<Pair> seconds() const;
  std::optional<Pair> memory() const;  // bytes
};

struct SetReport {
  std::string set;
  std::size_t skipped = 0;
  std::map<std::string, std::size_t> reasons;  // of skipping
  std::map<std::string, std::size_t> assumed;  // defaults taken, and in how many rows
  Deviations time;
};

struct FitReport {
  std::size_t right = 0, false_fits = 0, false_out_of_memory = 0;
};

struct ValidationReport {
  std::vector<RowResult> rows;  // in the table's order
  std::vector<SetReport> sets;  // in the order of their first rows
  SetReport all;
  Deviations memory;
  FitReport fits;
  Regret regret;
};

struct ValidateOptions {
  unsigned threads = 0;                  // 0: as many as the machine has
  std::function<bool(double)> progress;  // share of rows done; false stops
};

// Predicts every row that its columns describe. Nothing when `progress` stopped it. Rows that cannot be
// predicted are counted under their reason and never by what was measured. Throws InputError for a table that
// cannot be read.
std::optional<ValidationReport> validate(const CsvTable&, const Library&,
                                         const std::shared_ptr<const Calibration>&, const ValidateOptions&);

}  // namespace tandem
