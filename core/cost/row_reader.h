// Reads one TOML table field by field: every problem with file and line, every unknown key refused.
#pragma once
#include <toml++/toml.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/problem/problem.h"
#include "core/units/quantity.h"

namespace tandem {

class RowReader {
 public:
  RowReader(const toml::table& table, std::string kind, const std::string& file, Problems& problems)
      : table_(table), kind_(std::move(kind)), file_(file), problems_(problems) {}

  // Each leaves `out` as it is where the key is absent or wrong; the latter is a problem.
  void read(std::string_view key, std::string& out);
  void read(std::string_view key, double& out, double low, double high);
  void read(std::string_view key, int& out, int low, int high);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, Seconds& out);
  void read(std::string_view key, Bandwidth& out);
  void read(std::string_view key, Bytes& out);
  void read(std::string_view key, std::vector<std::string>& out);
  void read(std::string_view key, std::vector<std::pair<double, double>>& out);  // [[2, 0.8], [4, 0.81]]
  void read(std::string_view key, std::vector<std::pair<std::string, std::string>>& out);  // [["64", "4 us"]]
  void read(std::string_view key, std::map<std::string, double>& out, double low, double high);

  bool has(std::string_view key) const { return table_.contains(key); }
  // The text of a key that must be there; "" (and a problem) otherwise.
  std::string require(std::string_view key);
  void complain(std::string_view key, std::string what, std::string hint = {});
  // Call last: refuses keys that no read asked for.
  void finish();
  Where where(std::string_view key = {}) const;

 private:
  const toml::node* find(std::string_view key);
  const toml::table& table_;
  std::string kind_;
  const std::string& file_;
  Problems& problems_;
  std::vector<std::string> known_;
};

}  // namespace tandem
