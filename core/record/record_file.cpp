// Writing a record into a `*.tandem` file.
#include <sqlite3.h>

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>
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

// Fills one table, many rows a statement as long as there are many. Texts must outlive the inserter.
class Inserter {
 public:
  Inserter(Database& database, std::string_view table, std::size_t columns, std::size_t rows)
      : columns_(columns),
        batches_(rows / batch),
        many_(database, sql(table, columns, batch)),
        one_(database, sql(table, columns, 1)) {}

  template <class... Values>
  void row(const Values&... values) {
    static_assert(sizeof...(values) > 0);
    (bind(values), ...);
    if (batches_ == 0) {
      one_.run();
      parameter_ = 0;
    } else if (parameter_ == static_cast<int>(batch * columns_)) {
      many_.run();
      parameter_ = 0;
      --batches_;
    }
  }

 private:
  static constexpr std::size_t batch = 32;
  static std::string sql(std::string_view table, std::size_t columns, std::size_t rows) {
    std::string row = "(?";
    for (std::size_t i = 1; i < columns; ++i) row += ",?";
    row += ")";
    std::string result = fmt::format("INSERT INTO {} VALUES{}", table, row);
    for (std::size_t i = 1; i < rows; ++i) result += "," + row;
    return result;
  }
  Statement& current() { return batches_ > 0 ? many_ : one_; }

  template <class Integer>
  requires std::is_integral_v<Integer>
  void bind(Integer value) { current().bind(parameter_++, static_cast<std::int64_t>(value)); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void bind(Enum value) { bind(static_cast<std::underlying_type_t<Enum>>(value)); }
  template <class Tag>
  void bind(Quantity<Tag> value) {
    bind(value.value);
  }
  template <class Tag>
  void bind(Id<Tag> id) {
    bind(id.value);
  }
  void bind(double value) { current().bind(parameter_++, value); }
  void bind(std::string_view value) { current().bind(parameter_++, value); }
  void bind(const std::string& value) { bind(std::string_view(value)); }
  void bind(std::optional<std::uint32_t> value) { value ? bind(*value) : current().bind_null(parameter_++); }

  std::size_t columns_, batches_;
  Statement many_, one_;
  int parameter_ = 0;
};

std::optional<std::uint32_t> unless(std::uint32_t none, std::uint32_t value) {
  return value == none ? std::nullopt : std::optional(value);
}

void write_header(Database& database, const RunRecord& record) {
  const RecordHeader& header = record.header;
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
  Inserter rows(database, "header", 2, std::size(entries));
  for (const auto& [key, value] : entries) rows.row(key, value);
  Inserter notes(database, "note", 2, header.notes.size());
  for (const auto& [topic, remark] : header.notes) notes.row(topic, remark);
}

template <class Enum>
void write_names(Database& database, std::string_view family, std::size_t count) {
  Inserter names(database, "name_of", 3, count);
  for (std::size_t i = 0; i < count; ++i) names.row(family, i, name(static_cast<Enum>(i)));
}

void write_name_tables(Database& database) {
  write_names<Lane>(database, "lane", lane_count);
  write_names<Phase>(database, "phase", phase_count);
  write_names<TaskKind>(database, "kind", task_kind_count);
  write_names<HeldBy>(database, "held_by", held_by_count);
  write_names<CollectiveKind>(database, "collective", collective_kind_count);
  write_names<Algorithm>(database, "algorithm", algorithm_count);
}

void write_places(Database& database, const RunRecord& record) {
  Inserter kinds(database, "device_kind", 5, record.device_kinds.size());
  for (std::size_t i = 0; i < record.device_kinds.size(); ++i) {
    const RecordDeviceKind& kind = record.device_kinds[i];
    kinds.row(i, kind.name, kind.memory, kind.memory_bandwidth, kind.compute_units);
    Inserter peaks(database, "device_peak", 3, kind.peak.size());
    for (const auto& [dtype, rate] : kind.peak) peaks.row(i, dtype, rate);
  }
  Inserter lanes(database, "lane", 8, record.lanes.size());
  for (std::size_t i = 0; i < record.lanes.size(); ++i) {
    const RecordLane& lane = record.lanes[i];
    lanes.row(i, lane.rank, lane.lane, lane.stage, lane.device, lane.node, lane.multiplicity, lane.device_kind);
  }
}

// Labels and details repeat from microbatch to microbatch: each text is stored once.
class TextTable {
 public:
  explicit TextTable(Database& database) : rows_(database, "text", 2, 0) {}
  std::size_t id(const std::string& text) {
    const auto [place, is_new] = ids_.try_emplace(text, ids_.size());
    if (is_new) rows_.row(place->second, text);
    return place->second;
  }

 private:
  Inserter rows_;
  std::unordered_map<std::string_view, std::size_t> ids_;
};

void write_tasks(Database& database, const RunRecord& record) {
  TextTable texts(database);
  Inserter rows(database, "task", 14, record.tasks.size());
  for (std::size_t i = 0; i < record.tasks.size(); ++i) {
    const RecordTask& task = record.tasks[i];
    rows.row(i, texts.id(task.label), task.phase, task.kind, unless(no_microbatch, task.microbatch),
             unless(no_message, task.message), task.chunk, texts.id(task.detail), task.flops, task.bytes,
             task.group_size, task.collective, task.algorithm,
             task.origin == no_origin ? std::optional<std::uint32_t>()
                                      : static_cast<std::uint32_t>(texts.id(record.origins[task.origin])));
  }
}

void write_spans(Database& database, const RunRecord& record) {
  Inserter rows(database, "span", 8, record.spans.size());
  for (std::size_t i = 0; i < record.spans.size(); ++i) {
    const RecordSpan& span = record.spans[i];
    rows.row(i, span.lane, span.task, span.step, span.start, span.end, span.held_by,
             unless(no_span, span.cause));
  }
}

void write_samples(Database& database, const RunRecord& record) {
  Inserter memory(database, "memory", 8, record.memory.size());
  for (const RecordMemory& sample : record.memory)
    std::apply([&](const auto&... live) { memory.row(sample.rank, sample.time, live...); }, sample.live);
  Inserter links(database, "link", 5, record.links.size());
  for (std::size_t i = 0; i < record.links.size(); ++i)
    links.row(i, record.links[i].name, record.links[i].multiplicity, record.links[i].carried,
              record.links[i].capacity);
  Inserter losses(database, "loss", 2, record.losses.size());
  for (const auto& [step, loss] : record.losses) losses.row(step, loss);
  Inserter summary(database, "summary", 2, record.summary.size());
  for (const auto& [key, value] : record.summary) summary.row(key, value);
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
