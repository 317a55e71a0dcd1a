// Rows of a record's tables.
#include "core/record/write_tables.h"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "core/record/inserter.h"
#include "core/record/schema.h"

namespace tandem {
namespace {

using sqlite::Database;
using sqlite::Inserter;
using sqlite::Statement;

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

}  // namespace

void create_tables(Database& database) {
  database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", record_application_id,
                               record_format_version));
  database.execute(record_tables);
}

void write_head(Database& database, const RunRecord& record) {
  write_header(database, record);
  write_state(database, record.header.state, record.header.failure);
  write_notes(database, record.header.notes);
  write_name_tables(database);
  write_places(database, record);
  write_tasks(database, record);
}

void write_spans(Database& database, const std::vector<RecordSpan>& spans, std::size_t first) {
  Inserter rows(database, "span", 8, spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const RecordSpan& span = spans[i];
    rows.row(first + i, span.lane, span.task, span.step, span.start, span.end, span.held_by,
             unless(no_span, span.cause));
  }
}

void write_memory(Database& database, const std::vector<RecordMemory>& samples) {
  Inserter rows(database, "memory", 8, samples.size());
  for (const RecordMemory& sample : samples)
    std::apply([&](const auto&... live) { rows.row(sample.rank, sample.time, live...); }, sample.live);
}

void write_losses(Database& database, const std::vector<std::pair<std::uint32_t, double>>& losses) {
  Inserter rows(database, "loss", 2, losses.size());
  for (const auto& [step, loss] : losses) rows.row(step, loss);
}

void write_links(Database& database, const std::vector<RecordLink>& links) {
  Inserter rows(database, "link", 5, links.size());
  for (std::size_t i = 0; i < links.size(); ++i)
    rows.row(i, links[i].name, links[i].multiplicity, links[i].carried, links[i].capacity);
}

void write_summary(Database& database, const std::map<std::string, double>& summary) {
  Statement row(database, "INSERT OR REPLACE INTO summary VALUES(?, ?)");
  for (const auto& [key, value] : summary) {
    row.bind(0, std::string_view(key));
    row.bind(1, value);
    row.run();
  }
}

void write_notes(Database& database, const std::map<std::string, std::string>& notes) {
  Statement row(database, "INSERT OR REPLACE INTO note VALUES(?, ?)");
  for (const auto& [topic, remark] : notes) {
    row.bind(0, std::string_view(topic));
    row.bind(1, std::string_view(remark));
    row.run();
  }
}

void write_state(Database& database, RunState state, const std::string& failure) {
  database.execute("DELETE FROM header WHERE key = 'state'");
  if (state == RunState::Finished) return;  // what a header without the key says
  Inserter(database, "header", 2, 1).row(std::string_view("state"), state_text(state, failure));
}

}  // namespace tandem
