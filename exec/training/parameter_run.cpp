// Walks the local rows of a shard; rows that follow one another whole are one run.
#include "exec/training/parameter_run.h"

#include <algorithm>

#include "core/problem/problem.h"

namespace tandem {
namespace {

// Where local row `row` (of one expert) lies among the whole rows, and how many follow it in its piece.
struct RowPlace {
  std::int64_t whole = 0, following = 0;
};
RowPlace row_place(const ParameterShard& shard, std::int64_t row) {
  for (const IndexRange& piece : shard.rows) {
    if (row < piece.size()) return {piece.begin + row, piece.size() - row};
    row -= piece.size();
  }
  check(false, "a row beyond the shard " + shard.name);
  return {};
}

}  // namespace

std::vector<ParameterRun> parameter_runs(const ParameterShard& shard, std::int64_t begin, std::int64_t end) {
  const ParameterShape local = shard.local();
  check(0 <= begin && begin <= end && end <= local.count(), "runs beyond the shard " + shard.name);
  std::vector<ParameterRun> runs;
  const bool whole_rows = local.columns == shard.whole.columns;
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t column = at % local.columns, row = at / local.columns % local.rows;
    const std::int64_t expert = shard.experts.begin + at / local.columns / local.rows;
    RowPlace place = row_place(shard, row);
    const bool padding = place.whole >= shard.whole.rows;
    // Padding starts inside a piece.
    if (!padding) place.following = std::min(place.following, shard.whole.rows - place.whole);
    const std::int64_t rows = whole_rows || padding ? place.following : 1;
    const std::int64_t length = std::min(rows * local.columns - column, end - at);
    const std::int64_t whole =
        (expert * shard.whole.rows + place.whole) * shard.whole.columns + shard.columns.begin + column;
    ParameterRun* last = runs.empty() ? nullptr : &runs.back();
    if (last && !padding && !last->padding && last->whole + last->length == whole) {
      last->length += length;
    } else {
      runs.push_back({at, padding ? 0 : whole, length, padding});
    }
    at += length;
  }
  return runs;
}

std::vector<ParameterRun> parameter_runs(const ParameterShard& shard) {
  return parameter_runs(shard, 0, shard.local().count());
}

ParameterIndex whole_index(const ParameterShard& shard, std::int64_t local) {
  const ParameterShape shape = shard.local();
  return {shard.experts.begin + local / shape.columns / shape.rows,
          row_place(shard, local / shape.columns % shape.rows).whole,
          shard.columns.begin + local % shape.columns};
}

std::optional<std::int64_t> local_index(const ParameterShard& shard, const ParameterIndex& index) {
  const auto inside = [](const IndexRange& range, std::int64_t i) { return range.begin <= i && i < range.end; };
  if (!inside(shard.experts, index.expert) || !inside(shard.columns, index.column)) return std::nullopt;
  const ParameterShape shape = shard.local();
  std::int64_t row = 0;
  for (const IndexRange& piece : shard.rows) {
    if (inside(piece, index.row))
      return ((index.expert - shard.experts.begin) * shape.rows + row + index.row - piece.begin) *
                 shape.columns +
             index.column - shard.columns.begin;
    row += piece.size();
  }
  return std::nullopt;
}

}  // namespace tandem
