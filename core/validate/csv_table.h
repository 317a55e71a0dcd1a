// A CSV file with a header line, as published tables come: any order of columns, quoted fields, line breaks
// inside quotes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct CsvTable {
  struct Row {
    int line = 0;  // where it begins, from 1
    std::vector<std::string> cells;
  };
  std::string path;
  std::vector<std::string> columns;
  std::vector<Row> rows;

  // The cell under `column`, blanks at its ends dropped; "" where the table has no such column.
  std::string_view cell(const Row& row, std::string_view column) const;
  bool has(std::string_view column) const;
};

// RFC 4180. Throws InputError (all faults at once) for rows of another width than the header, repeated or empty
// column names and quotes that do not close.
CsvTable parse_csv(std::string_view text, const std::string& path);
CsvTable read_csv(const std::string& path);

// `cell` as a field of a CSV line, quoted where it must be.
std::string csv_field(std::string_view cell);

}  // namespace tandem
