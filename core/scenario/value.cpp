// Values as TOML prints them.
#include "core/scenario/value.h"

#include <fmt/format.h>

namespace tandem {

std::string quoted(const std::string& raw) {
  std::string result = "\"";
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string exact(double number) {
  std::string digits = fmt::format("{}", number);
  if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
  return digits;
}

std::string text(const KeyValue& value) {
  struct Print {
    std::string operator()(std::monostate) const { return "a table or a date"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return fmt::format("{}", n); }
    std::string operator()(double x) const { return exact(x); }
    std::string operator()(const std::string& s) const {
      return s.size() <= 80 ? quoted(s) : quoted(s.substr(0, 77) + "...");
    }
    std::string operator()(const KeyValue::List& list) const {
      std::string all = "[";
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (i == 12) return all + ", ...]";
        all += (i > 0 ? ", " : "") + tandem::text(list[i]);
      }
      return all + "]";
    }
  };
  return std::visit(Print{}, value.is);
}

}  // namespace tandem
