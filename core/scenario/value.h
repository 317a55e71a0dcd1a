// A value of a scenario key, apart from the file format it came from.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tandem {

// monostate: something that no key takes (a table, a date, a list of lists).
struct KeyValue {
  using List = std::vector<KeyValue>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List> is;
};

// As TOML prints it, cut when long; for messages and canonical files.
std::string text(const KeyValue&);
std::string quoted(const std::string&);  // a TOML basic string
std::string exact(double);               // shortest text that reads back equal, always with a point or exponent

}  // namespace tandem
