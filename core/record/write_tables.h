// Fills the tables of a record file (schema.h): what is known before a run, what its steps leave behind, what
// is known at its end.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/record/run_record.h"
#include "core/record/sqlite.h"

namespace tandem {

// Marks an empty file as a record of this format and makes its tables.
void create_tables(sqlite::Database&);

// Header, notes, names, device kinds, lanes and tasks.
void write_head(sqlite::Database&, const RunRecord&);

// Spans are numbered on from `first`, the number of those already there.
void write_spans(sqlite::Database&, const std::vector<RecordSpan>&, std::size_t first);
void write_memory(sqlite::Database&, const std::vector<RecordMemory>&);
void write_losses(sqlite::Database&, const std::vector<std::pair<std::uint32_t, double>>&);

void write_links(sqlite::Database&, const std::vector<RecordLink>&);
// Both replace entries of equal keys.
void write_summary(sqlite::Database&, const std::map<std::string, double>&);
void write_notes(sqlite::Database&, const std::map<std::string, std::string>&);
// Replaces what the header says of it.
void write_state(sqlite::Database&, RunState, const std::string& failure);

}  // namespace tandem
