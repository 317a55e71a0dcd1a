// Reads one TOML table key by key: each fault has file, line and a hint, and keys that nobody asked for are
// refused.
#pragma once
#include <toml++/toml.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem/problem.h"
#include "core/units/quantity.h"

namespace tandem {

class TableReader {
 public:
  // `owner` begins every message: "device \"h100-sxm5-80gb\"". The table and the problems outlive the reader.
  TableReader(const toml::table& table, std::string file, std::string owner, Problems& problems);

  // Each leaves `into` alone when the key is absent, and says so when its value cannot be used. Numbers are in
  // [low, high]; quantities are text with a unit and not negative.
  void read(std::string_view key, std::string& into);
  void read(std::string_view key, int& into, int low, int high);
  void read(std::string_view key, double& into, double low, double high);
  void read(std::string_view key, Bytes& into);
  void read(std::string_view key, Bandwidth& into);
  void read(std::string_view key, Seconds& into);
  void read(std::string_view key, ComputeRate& into);
  void read(std::string_view key, Power& into);
  // A list of whole numbers or of numbers, of 1 to `most` entries.
  void read(std::string_view key, std::vector<int>& into, int low, int high, std::size_t most);
  void read(std::string_view key, std::vector<double>& into, double low, double high, std::size_t most);
  // One word of a closed list; nullopt when absent or wrong.
  std::optional<std::size_t> choice(std::string_view key, const std::vector<std::string>& words);
  const toml::table* table(std::string_view key);
  const toml::array* tables(std::string_view key);

  bool has(std::string_view key) const { return table_.contains(key); }
  Where where(std::string_view key) const;  // of the key's value, or of the table
  Where where() const;
  void complain(std::string_view key, std::string what, std::string hint = {});
  const std::string& owner() const { return owner_; }

  // Call last: refuses what was not read, with the nearest key that could have been.
  void refuse_others();

 private:
  const toml::node* find(std::string_view key);
  template <class Q, class Parse>
  void quantity(std::string_view key, Q& into, Parse parse, std::string_view example);

  const toml::table& table_;
  std::string file_, owner_;
  Problems& problems_;
  std::vector<std::string> asked_;
};

// Parses TOML text; a syntax error is thrown as InputError with its line.
toml::table parse_toml(std::string_view text, const std::string& file);
Where where_of(const toml::node& node, const std::string& file);

}  // namespace tandem
