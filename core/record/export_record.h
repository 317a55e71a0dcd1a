// Records in formats of other viewers.
#pragma once
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "core/record/run_record.h"

namespace tandem {

enum class ExportFormat : std::uint8_t {
  Chrome,    // Kineto-shaped JSON: Perfetto, chrome://tracing, Holistic Trace Analysis, TensorBoard
  Perfetto,  // native protobuf, smaller and faster to open for large records
  Csv,       // one line a span
};
std::string_view name(ExportFormat);  // "chrome", "perfetto", "csv"
std::optional<ExportFormat> parse_export_format(std::string_view);

struct ExportOptions {
  // One rank only, as viewers that read a file a rank expect.
  std::optional<RankId> rank{};
};

// A rank that is not recorded is an InputError (its Where is the command line).
void export_record(const RunRecord&, ExportFormat, const ExportOptions&, std::ostream&);
// Whole or not at all, like write_record; BackendError when it cannot be written.
void export_record(const RunRecord&, ExportFormat, const ExportOptions&, const std::string& path);

}  // namespace tandem
