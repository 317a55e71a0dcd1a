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
  const bool in_a = value.a.steps > 0 && number(value.a.median) != 0,
             in_b = value.b.steps > 0 && number(value.b.median) != 0;
  if (in_a && in_b) return ratio_text(*value.deviation());
  return in_a ? "A alone" : in_b ? "B alone" : "-";
}

// Values of A and B ("-" where one has none) and the deviation.
template <class Q>
void add_cells(TableRow& row, const Compared<Q>& value) {
  row.push_back(value.a.steps > 0 ? text(value.a.median) : "-");
  row.push_back(value.b.steps > 0 ? text(value.b.median) : "-");
  row.push_back(deviation_text(value));
}

}  // namespace tandem
