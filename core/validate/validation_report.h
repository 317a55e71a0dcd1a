// What a validation says: tables for people, JSON for programs, files for a closer look.
#pragma once
#include <string>

#include "core/validate/validate.h"

namespace tandem {

// {"sets": [{set, rows, skipped, median_abs_deviation, mean_abs_deviation, bias, p90_abs_deviation}], "all":
// {…}, "regret": {groups, first, best_of_three}, "memory": {…}, "fits": {right, false_fits,
// false_out_of_memory}}: fractions, not per cent. What no row tells is absent.
std::string validation_json(const ValidationReport&);

// A line a set in per cent, then all rows, why rows were skipped, and what the tables left open.
std::string validation_text(const ValidationReport&);

// A row of `rows.csv`: id, set, status, profile, measured and predicted seconds, deviation, memory, verdict,
// what was assumed.
std::string rows_csv(const ValidationReport&);

// Measured against predicted step times on logarithmic axes, a colour a set.
std::string scatter_svg(const ValidationReport&);

// The `count` rows that are furthest off, each with its breakdown.
std::string worst_rows(const ValidationReport&, const std::shared_ptr<const Calibration>&, std::size_t count);

}  // namespace tandem
