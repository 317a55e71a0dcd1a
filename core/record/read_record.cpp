// Reading a record from a `*.tandem` file; every value is checked, since files come from anywhere.
#include <sqlite3.h>

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/problem/problem.h"
#include "core/record/run_record.h"
#include "core/record/schema.h"
#include "core/record/sqlite.h"

namespace tandem {
namespace {

using sqlite::Database;
using sqlite::Statement;

[[noreturn]] void refuse(const std::string& path, std::string what, std::string hint = {}) {
  throw InputError(Problem{{.file = path}, std::move(what), std::move(hint)});
}

std::uint64_t big_endian(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// The first 100 bytes of an SQLite file say whose it is, of which version and how long it should be
// (sqlite.org/fileformat2.html): page size at 16, pages at 28, user version at 60, application id at 68.
void check_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) refuse(path, "no such file");
  if (status.type() == fs::file_type::none)
    refuse(path, fmt::format("cannot be examined ({})", error.message()));
  if (fs::is_directory(status)) refuse(path, "is a directory, not a record", "name a .tandem file inside it");
  if (!fs::is_regular_file(status)) refuse(path, "is not a regular file (a device, a pipe or a socket)");
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, "cannot be opened for reading", "check its permissions");
  std::string head(100, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::size_t got = static_cast<std::size_t>(in.gcount());
  const std::string_view magic("SQLite format 3\0", 16);
  if (got == 0) refuse(path, "is empty, not a record");
  if (std::string_view(head).substr(0, std::min(got, magic.size())) !=
      magic.substr(0, std::min(got, magic.size())))
    refuse(path, "is not a Tandem record (records are SQLite files)",
           "tandem predict … -o FILE.tandem writes one");
  if (got < head.size()) refuse(path, fmt::format("is truncated: it has only {} bytes", got));
  if (big_endian(head, 68, 4) != static_cast<std::uint64_t>(record_application_id))
    refuse(path, "is an SQLite file, but not a Tandem record");
  const std::uint64_t version = big_endian(head, 60, 4);
  if (version > record_format_version)
    refuse(path,
           fmt::format("was written by a newer Tandem (format {}, this program reads up to {})", version,
                       record_format_version),
           "read it with that version");
  if (version == 0) refuse(path, "is a Tandem record without a format version");
  // Of a file that grows (write-ahead log, write version 2 at 18) the last pages may still be in its log.
  if (head[18] == 2) return;
  const std::uint64_t page = big_endian(head, 16, 2) == 1 ? 65536 : big_endian(head, 16, 2);
  const std::uint64_t expected = page * big_endian(head, 28, 4), size = fs::file_size(path, error);
  if (!error && size < expected)
    refuse(path, fmt::format("is truncated: it has {} of {} bytes", size, expected));
}

// One table's rows; values that do not fit their field are damage.
class Rows {
 public:
  Rows(Database& database, const std::string& path, std::string_view table, const std::string& columns)
      : path_(path),
        table_(table),
        select_(database, fmt::format("SELECT {} FROM {} ORDER BY rowid", columns, table)) {}
  bool next() {
    ++row_;
    return select_.next();
  }
  std::uint32_t number(int column, std::uint32_t limit = std::numeric_limits<std::uint32_t>::max()) const {
    const std::int64_t value = select_.integer(column);
    if (value < 0 || value > std::int64_t{limit})
      damaged(fmt::format("the value {} in column {}", value, column + 1));
    return static_cast<std::uint32_t>(value);
  }
  template <class Enum>
  Enum choice(int column, std::size_t count) const {
    return static_cast<Enum>(number(column, static_cast<std::uint32_t>(count - 1)));
  }
  std::uint32_t number_or(int column, std::uint32_t none) const {
    return select_.is_null(column) ? none : number(column);
  }
  double real(int column) const {
    return select_.is_null(column) ? std::numeric_limits<double>::quiet_NaN() : select_.real(column);
  }
  std::string text(int column) const { return select_.text(column); }
  // Ids count rows from 0: other tables refer to them.
  void expect_id(std::size_t expected) const {
    if (select_.integer(0) != static_cast<std::int64_t>(expected)) damaged("a gap in its numbering");
  }
  [[noreturn]] void damaged(const std::string& what) const {
    refuse(path_, fmt::format("is a damaged record: table {} has {} (row {})", table_, what, row_));
  }

 private:
  const std::string& path_;
  std::string table_;
  Statement select_;
  std::size_t row_ = 0;
};

std::uint64_t parsed_number(const std::string& path, const std::string& key, const std::string& text,
                            std::uint64_t limit) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > limit)
    refuse(path, fmt::format("is a damaged record: header {} = \"{}\"", key, text));
  return value;
}

void read_state(const std::string& path, const std::string& value, RecordHeader& header) {
  constexpr std::string_view failed = "failed: ";
  if (value == "running") {
    header.state = RunState::Running;
  } else if (value.starts_with(failed)) {
    header.state = RunState::Failed;
    header.failure = value.substr(failed.size());
  } else {
    refuse(path, fmt::format("is a damaged record: header state = \"{}\"", value));
  }
}

void read_header(Database& database, const std::string& path, RunRecord& record) {
  RecordHeader& header = record.header;
  std::map<std::string, std::string> entries;
  Statement select(database, "SELECT key, value FROM header");
  while (select.next()) entries[select.text(0)] = select.text(1);
  for (const auto& [key, value] : entries) {
    if (key == "backend")
      header.backend = value;
    else if (key == "fidelity")
      header.fidelity = value;
    else if (key == "program_version")
      header.program_version = value;
    else if (key == "seed")
      header.seed = parsed_number(path, key, value, std::numeric_limits<std::uint64_t>::max());
    else if (key == "scenario")
      header.scenario = value;
    else if (key == "scenario_digest")
      header.scenario_digest = value;
    else if (key == "model")
      header.model = value;
    else if (key == "cluster")
      header.cluster = value;
    else if (key == "plan")
      header.plan = value;
    else if (key == "state")
      read_state(path, value, header);
    else if (key == "warmup_steps")
      record.warmup_steps = static_cast<std::uint32_t>(
          parsed_number(path, key, value, std::numeric_limits<std::uint32_t>::max()));
    else
      refuse(path, fmt::format("is a damaged record: header has an unknown key \"{}\"", key));
  }
  Statement note(database, "SELECT topic, remark FROM note");
  while (note.next()) header.notes[note.text(0)] = note.text(1);
}

void read_places(Database& database, const std::string& path, RunRecord& record) {
  Rows kinds(database, path, "device_kind", "id, name, memory, memory_bandwidth, compute_units");
  while (kinds.next()) {
    kinds.expect_id(record.device_kinds.size());
    record.device_kinds.push_back({kinds.text(1),
                                   Bytes(kinds.real(2)),
                                   Bandwidth(kinds.real(3)),
                                   {},
                                   static_cast<int>(kinds.number(4, std::numeric_limits<int>::max()))});
  }
  Rows peaks(database, path, "device_peak", "device_kind, dtype, flops_per_s");
  while (peaks.next()) {
    const std::uint32_t kind = peaks.number(0);
    if (kind >= record.device_kinds.size()) peaks.damaged("a device kind that is not there");
    record.device_kinds[kind].peak[peaks.text(1)] = ComputeRate(peaks.real(2));
  }
  Rows lanes(database, path, "lane", "id, rank, lane, stage, device, node, multiplicity, device_kind");
  while (lanes.next()) {
    lanes.expect_id(record.lanes.size());
    record.lanes.push_back({RankId(lanes.number(1)), lanes.choice<Lane>(2, lane_count), lanes.number(3),
                            lanes.number(4), lanes.number(5), lanes.number(6), lanes.number(7)});
  }
}

void read_tasks(Database& database, const std::string& path, RunRecord& record) {
  std::vector<std::string> texts;
  Rows text_rows(database, path, "text", "id, value");
  while (text_rows.next()) {
    text_rows.expect_id(texts.size());
    texts.push_back(text_rows.text(1));
  }
  Rows rows(database, path, "task",
            "id, label, phase, kind, microbatch, message, chunk, detail, flops, bytes, group_size, collective, "
            "algorithm, origin");
  const auto text = [&](int column) -> const std::string& {
    const std::uint32_t id = rows.number(column);
    if (id >= texts.size()) rows.damaged("a text that is not there");
    return texts[id];
  };
  std::map<std::uint32_t, std::uint32_t> origins;  // text -> entry of record.origins
  while (rows.next()) {
    rows.expect_id(record.tasks.size());
    record.tasks.push_back({text(1), rows.choice<Phase>(2, phase_count),
                            rows.choice<TaskKind>(3, task_kind_count), rows.number_or(4, no_microbatch),
                            rows.number_or(5, no_message), static_cast<std::uint16_t>(rows.number(6, 0xffff)),
                            text(7), Flops(rows.real(8)), Bytes(rows.real(9)), rows.number(10),
                            rows.choice<CollectiveKind>(11, collective_kind_count),
                            rows.choice<Algorithm>(12, algorithm_count), no_origin});
    const std::uint32_t origin = rows.number_or(13, no_origin);
    if (origin == no_origin) continue;
    if (origin >= texts.size()) rows.damaged("a text that is not there");
    std::uint32_t& known = origins.try_emplace(origin, no_origin).first->second;
    if (known == no_origin) {
      known = static_cast<std::uint32_t>(record.origins.size());
      record.origins.push_back(texts[origin]);
    }
    record.tasks.back().origin = known;
  }
}

void read_spans(Database& database, const std::string& path, RunRecord& record) {
  Rows rows(database, path, "span", "id, lane, task, step, start_s, end_s, held_by, cause");
  while (rows.next()) {
    rows.expect_id(record.spans.size());
    record.spans.push_back({rows.number(1), rows.number(2), rows.number(3), Seconds(rows.real(4)),
                            Seconds(rows.real(5)), static_cast<std::uint8_t>(rows.number(6, held_by_count - 1)),
                            rows.number_or(7, no_span)});
  }
}

void read_samples(Database& database, const std::string& path, RunRecord& record) {
  Rows memory(database, path, "memory",
              "rank, time_s, weights, gradients, optimizer_state, activations, temporary, communication");
  while (memory.next()) {
    RecordMemory sample{RankId(memory.number(0)), Seconds(memory.real(1)), {}};
    for (std::size_t i = 0; i < sample.live.size(); ++i)
      sample.live[i] = Bytes(memory.real(static_cast<int>(i) + 2));
    record.memory.push_back(sample);
  }
  Rows links(database, path, "link", "id, name, multiplicity, carried, capacity");
  while (links.next())
    record.links.push_back({links.text(1), links.number(2), Bytes(links.real(3)), Bandwidth(links.real(4))});
  Rows losses(database, path, "loss", "step, loss");
  while (losses.next()) record.losses.emplace_back(losses.number(0), losses.real(1));
  Statement summary(database, "SELECT key, value FROM summary");
  while (summary.next())
    record.summary[summary.text(0)] =
        summary.is_null(1) ? std::numeric_limits<double>::quiet_NaN() : summary.real(1);
}

void check_tables(Database& database, const std::string& path) {
  for (const char* table : record_table_names) {
    Statement select(database, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?");
    select.bind(0, std::string_view(table));
    select.next();
    if (select.integer(0) != 1) refuse(path, fmt::format("is a damaged record: it has no table {}", table));
  }
}

}  // namespace

RunRecord read_record(const std::string& path) {
  check_file(path);
  RunRecord record;
  try {
    Database database(path, Database::Mode::Read);
    database.execute("BEGIN");  // one view of a record that grows meanwhile
    check_tables(database, path);
    read_header(database, path, record);
    read_places(database, path, record);
    read_tasks(database, path, record);
    read_spans(database, path, record);
    read_samples(database, path, record);
  } catch (const sqlite::Error& error) {
    if (error.code() == SQLITE_CANTOPEN || error.code() == SQLITE_IOERR || error.code() == SQLITE_NOMEM ||
        error.code() == SQLITE_BUSY || error.code() == SQLITE_LOCKED)
      throw BackendError(fmt::format("cannot read {}: {}", path, error.what()));
    refuse(path, fmt::format("is a damaged record ({})", error.what()));
  }
  if (const std::string fault = record_fault(record); !fault.empty())
    refuse(path, fmt::format("is a damaged record: {}", fault));
  return record;
}

}  // namespace tandem
