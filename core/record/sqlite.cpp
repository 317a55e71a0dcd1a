// SQLite connection and prepared statements.
#include "core/record/sqlite.h"

#include <sqlite3.h>

namespace tandem::sqlite {
namespace {

[[noreturn]] void fail(sqlite3* database, int code) {
  throw Error(code & 0xff, database ? sqlite3_errmsg(database) : sqlite3_errstr(code));
}

}  // namespace

Database::Database(const std::string& path, Mode mode) {
  const int flags = SQLITE_OPEN_NOMUTEX | (mode == Mode::Read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  if (const int code = sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr); code != SQLITE_OK) {
    const std::string what = handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    sqlite3_close_v2(handle_);
    handle_ = nullptr;
    throw Error(code & 0xff, what);
  }
  // A record that grows is busy for as long as it takes to write a step down, or to put its log away.
  sqlite3_busy_timeout(handle_, 5000);
  // A schema that came with a file must not run functions of its own choice.
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

Database::~Database() { sqlite3_close_v2(handle_); }

void Database::execute(const std::string& statements) {
  if (const int code = sqlite3_exec(handle_, statements.c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK)
    fail(handle_, code);
}

void Database::close() {
  if (const int code = sqlite3_close(handle_); code != SQLITE_OK) fail(handle_, code);
  handle_ = nullptr;
}

Statement::Statement(Database& database, std::string_view sql) : database_(database.get()) {
  check_code(sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &handle_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::check_code(int code) const {
  if (code != SQLITE_OK) fail(database_, code);
}

void Statement::bind(int parameter, std::int64_t value) {
  check_code(sqlite3_bind_int64(handle_, parameter + 1, value));
}
void Statement::bind(int parameter, double value) {
  check_code(sqlite3_bind_double(handle_, parameter + 1, value));
}
void Statement::bind(int parameter, std::string_view value) {
  check_code(
      sqlite3_bind_text64(handle_, parameter + 1, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void Statement::bind_null(int parameter) { check_code(sqlite3_bind_null(handle_, parameter + 1)); }

void Statement::run() {
  if (const int code = sqlite3_step(handle_); code != SQLITE_DONE) fail(database_, code);
  check_code(sqlite3_reset(handle_));
}

bool Statement::next() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail(database_, code);
  return false;
}

bool Statement::is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_, column); }
std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(handle_, column);
  if (!bytes) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

}  // namespace tandem::sqlite
