// The tables of a record file. README.md describes them for people.
#pragma once

namespace tandem {

constexpr int record_application_id = 0x544e444d;  // "TNDM", at offset 68 of the file

// Numbers of lane, phase, kind, held_by, collective and algorithm are those of the enums; the name_of tables
// spell them. Loss and summary values may be NULL: not a number.
inline constexpr const char* record_tables = R"sql(
CREATE TABLE header(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note(topic TEXT PRIMARY KEY, remark TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE text(id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE name_of(family TEXT NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY(family, id)) WITHOUT ROWID;
CREATE TABLE device_kind(id INTEGER PRIMARY KEY, name TEXT NOT NULL, memory REAL NOT NULL, memory_bandwidth REAL NOT NULL,
  compute_units INTEGER NOT NULL);
CREATE TABLE device_peak(device_kind INTEGER NOT NULL, dtype TEXT NOT NULL, flops_per_s REAL NOT NULL);
CREATE TABLE lane(id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, lane INTEGER NOT NULL, stage INTEGER NOT NULL,
  device INTEGER NOT NULL, node INTEGER NOT NULL, multiplicity INTEGER NOT NULL, device_kind INTEGER NOT NULL);
CREATE TABLE task(id INTEGER PRIMARY KEY, label INTEGER NOT NULL, phase INTEGER NOT NULL, kind INTEGER NOT NULL,
  microbatch INTEGER, message INTEGER, chunk INTEGER NOT NULL, detail INTEGER NOT NULL, flops REAL NOT NULL,
  bytes REAL NOT NULL, group_size INTEGER NOT NULL, collective INTEGER NOT NULL, algorithm INTEGER NOT NULL, origin INTEGER);
CREATE TABLE span(id INTEGER PRIMARY KEY, lane INTEGER NOT NULL, task INTEGER NOT NULL, step INTEGER NOT NULL,
  start_s REAL NOT NULL, end_s REAL NOT NULL, held_by INTEGER NOT NULL, cause INTEGER);
CREATE TABLE memory(rank INTEGER NOT NULL, time_s REAL NOT NULL, weights REAL NOT NULL, gradients REAL NOT NULL,
  optimizer_state REAL NOT NULL, activations REAL NOT NULL, temporary REAL NOT NULL, communication REAL NOT NULL);
CREATE TABLE link(id INTEGER PRIMARY KEY, name TEXT NOT NULL, multiplicity INTEGER NOT NULL, carried REAL NOT NULL,
  capacity REAL NOT NULL);
CREATE TABLE loss(step INTEGER NOT NULL, loss REAL);
CREATE TABLE summary(key TEXT PRIMARY KEY, value REAL) WITHOUT ROWID;
CREATE VIEW lanes AS SELECT lane.id, rank, name_of.name AS lane, stage, device, node, multiplicity, device_kind
  FROM lane LEFT JOIN name_of ON family = 'lane' AND name_of.id = lane.lane;
CREATE VIEW tasks AS SELECT task.id, label.value AS label, phase.name AS phase, kind.name AS kind, microbatch, message,
    chunk, detail.value AS detail, flops, bytes, group_size,
    CASE kind.name WHEN 'collective' THEN collective.name END AS collective,
    CASE kind.name WHEN 'collective' THEN algorithm.name END AS algorithm, origin.value AS origin
  FROM task LEFT JOIN text AS label ON label.id = task.label LEFT JOIN text AS detail ON detail.id = task.detail
    LEFT JOIN name_of AS phase ON phase.family = 'phase' AND phase.id = task.phase
    LEFT JOIN name_of AS kind ON kind.family = 'kind' AND kind.id = task.kind
    LEFT JOIN name_of AS collective ON collective.family = 'collective' AND collective.id = task.collective
    LEFT JOIN name_of AS algorithm ON algorithm.family = 'algorithm' AND algorithm.id = task.algorithm
    LEFT JOIN text AS origin ON origin.id = task.origin;
CREATE VIEW spans AS SELECT span.id, rank, lanes.lane, stage, step, start_s, end_s, end_s - start_s AS duration_s, label,
    phase, kind, microbatch, message, chunk, detail, flops, bytes, group_size, held.name AS held_by, cause
  FROM span JOIN lanes ON lanes.id = span.lane JOIN tasks ON tasks.id = span.task
    LEFT JOIN name_of AS held ON held.family = 'held_by' AND held.id = span.held_by;
)sql";

inline constexpr const char* record_table_names[] = {"header",      "note", "text",   "name_of", "device_kind",
                                                     "device_peak", "lane", "task",   "span",    "memory",
                                                     "link",        "loss", "summary"};

}  // namespace tandem
