// Writing a record into a `*.tandem` file.
#include <sqlite3.h>

#include <fmt/format.h>

#include <unordered_map>

#include "core/problem/problem.h"
#include "core/record/atomic_file.h"
#include "core/record/run_record.h"
#include "core/record/schema.h"
#include "core/record/sqlite.h"

namespace tandem {
namespace {

using sqlite::Database;
using sqlite::Statement;

std::int64_t integer(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void bind_or_null(Statement& insert, int parameter, std::uint32_t value, std::uint32_t none) {
  value == none ? insert.bind_null(parameter) : insert.bind(parameter, integer(value));
}

void write_header(Database& database, const RunRecord& record) {
  const RecordHeader& header = record.header;
  Statement insert(database, "INSERT INTO header VALUES(?, ?)");
  const std::pair<std::string_view, std::string> entries[] = {
      {"backend", header.backend},
      {"fidelity", header.fidelity},
      {"program_version", header.program_version},
      {"seed", std::to_string(header.seed)},
      {"scenario", header.scenario},
      {"scenario_digest", header.scenario_digest},
      {"model", header.model},
      {"cluster", header.cluster},
      {"plan", header.plan},
      {"warmup_steps", std::to_string(record.warmup_steps)},
  };
  for (const auto& [key, value] : entries) {
    insert.bind(0, key);
    insert.bind(1, std::string_view(value));
    insert.run();
  }
  Statement note(database, "INSERT INTO note VALUES(?, ?)");
  for (const auto& [topic, remark] : header.notes) {
    note.bind(0, std::string_view(topic));
    note.bind(1, std::string_view(remark));
    note.run();
  }
}

template <class Enum>
void write_names(Statement& insert, std::string_view family, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    insert.bind(0, family);
    insert.bind(1, integer(i));
    insert.bind(2, name(static_cast<Enum>(i)));
    insert.run();
  }
}

void write_name_tables(Database& database) {
  Statement insert(database, "INSERT INTO name_of VALUES(?, ?, ?)");
  write_names<Lane>(insert, "lane", lane_count);
  write_names<Phase>(insert, "phase", phase_count);
  write_names<TaskKind>(insert, "kind", task_kind_count);
  write_names<HeldBy>(insert, "held_by", held_by_count);
  write_names<CollectiveKind>(insert, "collective", collective_kind_count);
  write_names<Algorithm>(insert, "algorithm", algorithm_count);
}

void write_places(Database& database, const RunRecord& record) {
  Statement kind(database, "INSERT INTO device_kind VALUES(?, ?, ?, ?, ?)");
  Statement peak(database, "INSERT INTO device_peak VALUES(?, ?, ?)");
  for (std::size_t i = 0; i < record.device_kinds.size(); ++i) {
    const RecordDeviceKind& device = record.device_kinds[i];
    kind.bind(0, integer(i));
    kind.bind(1, std::string_view(device.name));
    kind.bind(2, device.memory.value);
    kind.bind(3, device.memory_bandwidth.value);
    kind.bind(4, std::int64_t{device.compute_units});
    kind.run();
    for (const auto& [dtype, rate] : device.peak) {
      peak.bind(0, integer(i));
      peak.bind(1, std::string_view(dtype));
      peak.bind(2, rate.value);
      peak.run();
    }
  }
  Statement insert(database, "INSERT INTO lane VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < record.lanes.size(); ++i) {
    const RecordLane& lane = record.lanes[i];
    insert.bind(0, integer(i));
    insert.bind(1, integer(lane.rank.value));
    insert.bind(2, integer(static_cast<std::uint8_t>(lane.lane)));
    insert.bind(3, integer(lane.stage));
    insert.bind(4, integer(lane.device));
    insert.bind(5, integer(lane.node));
    insert.bind(6, integer(lane.multiplicity));
    insert.bind(7, integer(lane.device_kind));
    insert.run();
  }
}

// Labels and details repeat from microbatch to microbatch: each text is stored once.
class TextTable {
 public:
  explicit TextTable(Database& database) : insert_(database, "INSERT INTO text VALUES(?, ?)") {}
  std::int64_t id(const std::string& text) {
    const auto [place, is_new] = ids_.try_emplace(text, integer(ids_.size()));
    if (is_new) {
      insert_.bind(0, place->second);
      insert_.bind(1, text);
      insert_.run();
    }
    return place->second;
  }

 private:
  Statement insert_;
  std::unordered_map<std::string_view, std::int64_t> ids_;
};

void write_tasks(Database& database, const RunRecord& record) {
  TextTable texts(database);
  Statement insert(database, "INSERT INTO task VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < record.tasks.size(); ++i) {
    const RecordTask& task = record.tasks[i];
    insert.bind(0, integer(i));
    insert.bind(1, texts.id(task.label));
    insert.bind(2, integer(static_cast<std::uint8_t>(task.phase)));
    insert.bind(3, integer(static_cast<std::uint8_t>(task.kind)));
    bind_or_null(insert, 4, task.microbatch, no_microbatch);
    bind_or_null(insert, 5, task.message, no_message);
    insert.bind(6, integer(task.chunk));
    insert.bind(7, texts.id(task.detail));
    insert.bind(8, task.flops.value);
    insert.bind(9, task.bytes.value);
    insert.bind(10, integer(task.group_size));
    insert.bind(11, integer(static_cast<std::uint8_t>(task.collective)));
    insert.bind(12, integer(static_cast<std::uint8_t>(task.algorithm)));
    insert.run();
  }
}

void write_spans(Database& database, const RunRecord& record) {
  Statement insert(database, "INSERT INTO span VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < record.spans.size(); ++i) {
    const RecordSpan& span = record.spans[i];
    insert.bind(0, integer(i));
    insert.bind(1, integer(span.lane));
    insert.bind(2, integer(span.task));
    insert.bind(3, integer(span.step));
    insert.bind(4, span.start.value);
    insert.bind(5, span.end.value);
    insert.bind(6, integer(span.held_by));
    bind_or_null(insert, 7, span.cause, no_span);
    insert.run();
  }
}

void write_samples(Database& database, const RunRecord& record) {
  Statement memory(database, "INSERT INTO memory VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  for (const RecordMemory& sample : record.memory) {
    memory.bind(0, integer(sample.rank.value));
    memory.bind(1, sample.time.value);
    for (std::size_t i = 0; i < sample.live.size(); ++i)
      memory.bind(static_cast<int>(i) + 2, sample.live[i].value);
    memory.run();
  }
  Statement link(database, "INSERT INTO link VALUES(?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < record.links.size(); ++i) {
    link.bind(0, integer(i));
    link.bind(1, std::string_view(record.links[i].name));
    link.bind(2, integer(record.links[i].multiplicity));
    link.bind(3, record.links[i].carried.value);
    link.bind(4, record.links[i].capacity.value);
    link.run();
  }
  Statement loss(database, "INSERT INTO loss VALUES(?, ?)");
  for (const auto& [step, value] : record.losses) {
    loss.bind(0, integer(step));
    loss.bind(1, value);
    loss.run();
  }
  Statement summary(database, "INSERT INTO summary VALUES(?, ?)");
  for (const auto& [key, value] : record.summary) {
    summary.bind(0, std::string_view(key));
    summary.bind(1, value);
    summary.run();
  }
}

void write_all(const RunRecord& record, const std::string& path) {
  Database database(path, Database::Mode::Write);
  // The file has no readers and no past: its safety comes from the rename.
  database.execute(fmt::format(
      "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = "
      "EXCLUSIVE; PRAGMA cache_size = -32768; PRAGMA application_id = {}; PRAGMA user_version = {}; BEGIN;",
      record_application_id, record_format_version));
  database.execute(record_tables);
  write_header(database, record);
  write_name_tables(database);
  write_places(database, record);
  write_tasks(database, record);
  write_spans(database, record);
  write_samples(database, record);
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
  file.commit();
}

}  // namespace tandem
