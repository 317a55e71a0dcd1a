// Writing a record into a `*.tandem` file.
#include <sqlite3.h>

#include <fmt/format.h>
#include <unistd.h>

#include "core/problem/problem.h"
#include "core/record/atomic_file.h"
#include "core/record/run_record.h"
#include "core/record/sqlite.h"
#include "core/record/write_tables.h"

namespace tandem {
namespace {

void write_all(const RunRecord& record, const std::string& path) {
  sqlite::Database database(path, sqlite::Database::Mode::Write);
  // The file has no readers and no past: its safety comes from the rename.
  database.execute(
      "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = "
      "EXCLUSIVE; PRAGMA cache_size = -32768; BEGIN;");
  create_tables(database);
  write_head(database, record);
  write_spans(database, record.spans, 0);
  write_memory(database, record.memory);
  write_links(database, record.links);
  write_losses(database, record.losses);
  write_summary(database, record.summary);
  database.execute("COMMIT");
  database.close();
}

}  // namespace

void write_record(const RunRecord& record, const std::string& path) {
  check_record(record);
  AtomicFile file(path);
  try {
    write_all(record, file.path());
  } catch (const sqlite::Error& error) {
    throw BackendError(fmt::format("cannot write {}: {}{}", path, error.what(),
                                   error.code() == SQLITE_FULL ? " (no space left, or a size limit)" : ""));
  }
  // The log of a run that was killed while it wrote under this name belongs to the file that goes.
  for (const char* suffix : {"-wal", "-shm", "-journal"}) ::unlink((file.target() + suffix).c_str());
  file.commit();
}

}  // namespace tandem
