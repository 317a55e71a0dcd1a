// Reads published measurements and gathers deviations.
#include "tests/core/cost/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace tandem::measurements {
namespace {

// Cells of one line; quoted cells may hold commas.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

double Row::number(const std::string& column) const {
  const std::string& text = cells_.at(column);
  return text.empty() ? 0 : std::stod(text);
}

std::vector<Row> read(const std::string& file) {
  std::ifstream in(TANDEM_SOURCE_DIR "/../shared/data/measurements/" + file);
  std::vector<Row> rows;
  std::string line;
  if (!std::getline(in, line)) return rows;
  const std::vector<std::string> names = cells(line);
  while (std::getline(in, line)) {
    const std::vector<std::string> values = cells(line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = i < values.size() ? values[i] : "";
    rows.emplace_back(std::move(row));
  }
  return rows;
}

void Deviations::add(double predicted, double measured) {
  values.push_back(100 * std::abs(predicted / measured - 1));
}

double Deviations::quantile(double q) const {
  if (values.empty()) return NAN;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

void print(const std::string& group, const Deviations& d) {
  fmt::print("{:44} {:4} rows: median {:5.1f} %, 90th percentile {:5.1f} %\n", group, d.values.size(),
             d.median(), d.quantile(0.9));
}

}  // namespace tandem::measurements
