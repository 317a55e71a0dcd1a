// SQLite in its smallest useful shape: a connection and prepared statements that close themselves and throw on
// failure.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tandem::sqlite {

// `code` is SQLite's primary result code (SQLITE_FULL, SQLITE_CORRUPT, …).
class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

class Database {
 public:
  enum class Mode : std::uint8_t { Read, Write };  // Write: the file is there already and empty
  Database(const std::string& path, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const std::string& statements);
  // Reports what the destructor would have to swallow.
  void close();
  sqlite3* get() const { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

// Parameters count from 0, as columns do.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);            // NaN becomes NULL, as SQLite has it
  void bind(int parameter, std::string_view value);  // must live until run()
  void bind_null(int parameter);
  void run();   // one statement without rows, then ready for the next values
  bool next();  // the next row, if there is one

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;

 private:
  void check_code(int code) const;
  sqlite3_stmt* handle_ = nullptr;
  sqlite3* database_;
};

}  // namespace tandem::sqlite
