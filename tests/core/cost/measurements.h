// Published measurements beside the checkout, where they are present; rows by column name.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tandem::measurements {

class Row {
 public:
  explicit Row(std::map<std::string, std::string> cells) : cells_(std::move(cells)) {}
  const std::string& operator[](const std::string& column) const { return cells_.at(column); }
  // 0 for an empty cell.
  double number(const std::string& column) const;
  bool contains(const std::string& column, const std::string& part) const {
    return cells_.at(column).find(part) != std::string::npos;
  }

 private:
  std::map<std::string, std::string> cells_;
};

// "kernels.csv", "collectives.csv"; empty when the file is not there.
std::vector<Row> read(const std::string& file);

// |predicted / measured - 1| of one group, in percent.
struct Deviations {
  std::vector<double> values;
  void add(double predicted, double measured);
  double quantile(double q) const;
  double median() const { return quantile(0.5); }
};
void print(const std::string& group, const Deviations&);

}  // namespace tandem::measurements
