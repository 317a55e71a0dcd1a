// Cells of a comparison's tables: values with units, deviations, counts.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/compare/sampled.h"
#include "core/units/text.h"

namespace tandem {

using TableRow = std::vector<std::string>;
using TableRows = std::vector<TableRow>;

std::string share_text(const Sampled<double>& share);               // "12.3 %"
std::string grouped(std::size_t count);                             // "12,345"
std::string counts_text(double tasks_a, double tasks_b);            // "96", "96 | 192"
std::string shortened(const std::string& text, std::size_t width);  // with … where it was cut
std::string ratio_text(double deviation);                           // "+12.3 %", "+1,234 %"

template <class Q>
std::string deviation_text(const Compared<Q>& value) {
  if (value.a.steps == 0) return "B alone";
  if (value.b.steps == 0) return "A alone";
  const auto deviation = value.deviation();
  return deviation ? ratio_text(*deviation) : "-";
}

// Values of A and B ("-" where one has none) and the deviation.
template <class Q>
void add_cells(TableRow& row, const Compared<Q>& value) {
  row.push_back(value.a.steps > 0 ? text(value.a.median) : "-");
  row.push_back(value.b.steps > 0 ? text(value.b.median) : "-");
  row.push_back(deviation_text(value));
}

}  // namespace tandem
