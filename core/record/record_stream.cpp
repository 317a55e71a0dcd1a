// Appending to a record file through SQLite's write-ahead log.
#include "core/record/record_stream.h"

#include <sqlite3.h>

#include <fmt/format.h>

#include <functional>

#include "core/problem/problem.h"
#include "core/record/sqlite.h"
#include "core/record/write_tables.h"

namespace tandem {

class RecordStream::File {
 public:
  // Readers of a log see the last whole step and hold up nobody. Synchronous normal: a power cut may take the
  // last steps, never the record. A file system without shared memory stays with a rollback journal.
  explicit File(const std::string& path) : path_(path), database_(path, sqlite::Database::Mode::Write) {
    database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  }

  void transaction(const std::function<void(sqlite::Database&)>& write) {
    try {
      database_.execute("BEGIN IMMEDIATE");
      write(database_);
      database_.execute("COMMIT");
    } catch (const sqlite::Error& error) {
      const BackendError failure = cannot_write(path_, error);
      // A full disk has already rolled back.
      if (sqlite3_get_autocommit(database_.get()) == 0) database_.execute("ROLLBACK");
      throw failure;
    }
  }

  // One file again. With a reader about, the log stays beside it, which is as good a record.
  void put_log_away() {
    sqlite3_busy_timeout(database_.get(), 200);  // no run waits long for somebody who looks at it
    try {
      database_.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;");
    } catch (const sqlite::Error& error) {
      if (error.code() != SQLITE_BUSY && error.code() != SQLITE_LOCKED) throw cannot_write(path_, error);
    }
  }

  static BackendError cannot_write(const std::string& path, const sqlite::Error& error) {
    return BackendError(fmt::format("cannot write {}: {}{}", path, error.what(),
                                    error.code() == SQLITE_FULL ? " (no space left, or a size limit)" : ""));
  }

 private:
  std::string path_;
  sqlite::Database database_;
};

RecordStream::RecordStream(const std::string& path, RunRecord head)
    : path_(path), last_(std::move(head)), lane_end_(last_.lanes.size()) {
  check(last_.spans.empty() && last_.memory.empty() && last_.losses.empty() && last_.links.empty(),
        "the head of a record has no steps yet");
  last_.header.state = RunState::Running;
  write_record(last_, path);
  try {
    file_ = std::make_unique<File>(path);
  } catch (const sqlite::Error& error) {
    throw File::cannot_write(path, error);
  }
  for (RecordTask& task : last_.tasks) task.label = task.detail = {};  // only checked from here on
}

RecordStream::~RecordStream() {
  if (!file_) return;
  try {
    fail("left unfinished");
  } catch (...) {
    // Nobody is left to tell; the record stays as it stands, in the state Running.
  }
}

void RecordStream::check_step(const RecordStep& step) {
  last_.spans = step.spans;
  last_.memory = step.memory;
  check_record(last_);
  std::vector<bool> met(lane_end_.size());
  for (const RecordSpan& span : step.spans) {
    if (met[span.lane]) continue;
    met[span.lane] = true;
    const auto& [number, end] = lane_end_[span.lane];
    check(span.step >= number && span.start + clock_resolution >= end,
          "spans of a record are appended in the order of their lanes");
  }
  for (const RecordMemory& sample : step.memory) {
    const auto end = memory_end_.find(sample.rank);
    check(end == memory_end_.end() || sample.time >= end->second, "memory samples are appended in time order");
  }
}

void RecordStream::append(const RecordStep& step) {
  check(file_ != nullptr, "a record that has ended takes no more steps");
  check_step(step);
  std::vector<RecordSpan> numbered = step.spans;
  for (RecordSpan& span : numbered)
    if (span.cause != no_span) span.cause += static_cast<std::uint32_t>(spans_);
  check(spans_ + numbered.size() < no_span, "spans that a record can number");
  file_->transaction([&](sqlite::Database& database) {
    write_spans(database, numbered, spans_);
    write_memory(database, step.memory);
    write_losses(database, step.losses);
  });
  spans_ += numbered.size();
  for (const RecordSpan& span : step.spans) lane_end_[span.lane] = {span.step, span.end};
  for (const RecordMemory& sample : step.memory) memory_end_[sample.rank] = sample.time;
}

void RecordStream::finish(const RecordEnd& end_of_run) { end(end_of_run, RunState::Finished, {}); }

void RecordStream::fail(const std::string& why) { end({}, RunState::Failed, why); }

void RecordStream::end(const RecordEnd& end_of_run, RunState state, const std::string& why) {
  check(file_ != nullptr, "a record ends once");
  file_->transaction([&](sqlite::Database& database) {
    write_links(database, end_of_run.links);
    write_summary(database, end_of_run.summary);
    write_notes(database, end_of_run.notes);
    write_state(database, state, why);
  });
  file_->put_log_away();
  file_.reset();
}

}  // namespace tandem
