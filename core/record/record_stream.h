// A record that is written while its run goes on, step by step, and can be read by other processes at any time.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/record/run_record.h"

namespace tandem {

// What a step leaves behind; several steps at once are as good. Lanes and tasks are those of the record's head.
struct RecordStep {
  std::vector<RecordSpan> spans;  // as in RunRecord; causes count from the first of these spans
  std::vector<RecordMemory> memory;
  std::vector<std::pair<std::uint32_t, double>> losses;
};

// What is known when a run is over.
struct RecordEnd {
  std::vector<RecordLink> links;
  std::map<std::string, double> summary;
  std::map<std::string, std::string> notes;  // beside those of the head, or instead of equal topics
};

// One writer a file. read_record() gives the head and all steps appended so far, in the state Running; after
// finish() the file is what write_record() would have written. Without finish() or fail() the record says that
// it was left unfinished, and with neither them nor a destructor (a killed process) that it is running.
// SQLite's write-ahead log lies beside the file meanwhile (FILE-wal, FILE-shm): a copy needs all of them.
class RecordStream {
 public:
  // Writes the head (header, device kinds, lanes, tasks, warm-up steps; no spans, samples, links) under the
  // name at once, replacing what was there. Throws BackendError where that cannot be written.
  RecordStream(const std::string& path, RunRecord head);
  ~RecordStream();
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // All or nothing: std::logic_error for what would be no record (record_fault), BackendError for what cannot
  // be written (a full disk), after which the record stands as before.
  void append(const RecordStep&);
  void finish(const RecordEnd&);
  // Ends the record with the steps it has and the reason why there are no more.
  void fail(const std::string& why);

  std::size_t spans() const { return spans_; }  // so far

 private:
  class File;
  void check_step(const RecordStep&);
  void end(const RecordEnd&, RunState, const std::string& why);

  std::string path_;
  std::size_t spans_ = 0;
  // The invariants of a record are checked on its last step alone, and where it meets the step before.
  RunRecord last_;
  std::vector<std::pair<std::uint32_t, Seconds>> lane_end_;  // step and end of each lane's last span
  std::map<RankId, Seconds> memory_end_;
  std::unique_ptr<File> file_;  // none: ended
};

}  // namespace tandem
