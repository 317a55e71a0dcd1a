// What a person reads of a comparison: whether the runs are alike, how long they took, why, and by what parts.
#pragma once
#include <string>

#include "core/cli/output.h"
#include "core/compare/comparison.h"

namespace tandem {

struct ComparisonTextOptions {
  std::string file_a, file_b;
  std::size_t top = 10;  // explanations, kinds of task and missing kinds shown
};
// Within 100 columns, but for names of models, clusters, plans and files that are longer.
void write_comparison(const Comparison&, const ComparisonTextOptions&, Output&);

// All of it but the single tasks, as one JSON object: seconds, bytes and fractions.
std::string comparison_json(const Comparison&, const std::string& file_a, const std::string& file_b);

}  // namespace tandem
