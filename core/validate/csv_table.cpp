// Splits text into rows and fields, and says which rows do not fit the header.
#include "core/validate/csv_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/problem/problem.h"

namespace tandem {
namespace {

constexpr std::size_t most_table_bytes = 256u << 20;

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& path, Problems& problems)
      : text_(text), path_(path), problems_(problems) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  bool more() const { return at_ < text_.size(); }

  CsvTable::Row row() {
    CsvTable::Row row{.line = line_, .cells = {}};
    do {
      row.cells.push_back(field());
    } while (take(','));
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (take('\n')) ++line_;
    return row;
  }

 private:
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string field() {
    if (!take('"')) {
      const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
      std::string_view plain = text_.substr(at_, end - at_);
      at_ = end;
      return std::string(trimmed(plain));
    }
    std::string quoted;
    const int opened = line_;
    for (;; ++at_) {
      if (at_ >= text_.size()) {
        problems_.add({.file = path_, .line = opened}, "a quoted field does not end", "close it with \"");
        break;
      }
      if (text_[at_] == '"') {
        ++at_;
        if (at_ >= text_.size() || text_[at_] != '"') break;
      }
      if (text_[at_] == '\n') ++line_;
      quoted += text_[at_];
    }
    // What stands between the closing quote and the separator belongs to nothing.
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    if (!trimmed(text_.substr(at_, end - at_)).empty())
      problems_.add({.file = path_, .line = line_}, "text follows a closing quote",
                    "double the quotes inside a quoted field");
    at_ = end;
    return quoted;
  }

  std::string_view text_;
  const std::string& path_;
  Problems& problems_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::string_view CsvTable::cell(const Row& row, std::string_view column) const {
  const auto found = std::find(columns.begin(), columns.end(), column);
  if (found == columns.end()) return {};
  return trimmed(row.cells[static_cast<std::size_t>(found - columns.begin())]);
}
bool CsvTable::has(std::string_view column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

CsvTable parse_csv(std::string_view text, const std::string& path) {
  Problems problems;
  CsvTable table;
  table.path = path;
  CsvReader reader(text, path, problems);
  if (reader.more()) table.columns = reader.row().cells;
  if (table.columns.empty() || (table.columns.size() == 1 && table.columns.front().empty()))
    problems.add({.file = path}, "the table is empty", "the first line names the columns");
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].empty())
      problems.add({.file = path, .line = 1}, fmt::format("column {} has no name", c + 1), "");
    else if (std::find(table.columns.begin(), table.columns.begin() + static_cast<std::ptrdiff_t>(c),
                       table.columns[c]) != table.columns.begin() + static_cast<std::ptrdiff_t>(c))
      problems.add({.file = path, .line = 1}, fmt::format("column {} stands twice", table.columns[c]), "");
  }
  while (reader.more()) {
    CsvTable::Row row = reader.row();
    if (row.cells.size() == 1 && row.cells.front().empty()) continue;
    if (row.cells.size() != table.columns.size()) {
      problems.add(
          {.file = path, .line = row.line},
          fmt::format("{} fields where the header names {} columns", row.cells.size(), table.columns.size()),
          "fields that hold commas are quoted");
      continue;
    }
    table.rows.push_back(std::move(row));
  }
  problems.throw_if_any();
  return table;
}

CsvTable read_csv(const std::string& path) { return parse_csv(read_text_file(path, most_table_bytes), path); }

std::string csv_field(std::string_view cell) {
  if (cell.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(cell);
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace tandem
