// Who sees whom: positions of queries and keys, tile by tile, and the scores that a mask hides.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "exec/cpu/kernels/attention_shape.h"
#include "exec/cpu/kernels/attention_tiles.h"

namespace tandem::cpu {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// Of a block's i-th query or key.
inline std::int32_t position(const std::int32_t* positions, std::int64_t i) {
  return positions ? positions[i] : static_cast<std::int32_t>(i);
}

// The keys that a query sees: positions p with after < p <= last.
struct Visible {
  std::int32_t after, last;
};

// The position that padding keys have: beyond every `last`.
inline constexpr std::int32_t padding_position = std::numeric_limits<std::int32_t>::max();

inline Visible visible(const AttentionShape& shape, std::int32_t query) {
  // Wider than any sequence is as wide as all; positions stay below 2^30.
  const auto window = static_cast<std::int32_t>(std::min<std::int64_t>(shape.window, 1 << 30));
  Visible keys = {std::numeric_limits<std::int32_t>::min(), padding_position - 1};
  if (shape.mask == Mask::Causal) keys.last = query;
  if (window > 0) {
    keys.after = query - window;
    if (shape.mask == Mask::Full) keys.last = query + window - 1;
  }
  return keys;
}

// Least and greatest position of a tile's queries or keys, so that a tile without a visible score is skipped
// and one without a hidden score needs no mask.
struct PositionRange {
  std::int32_t least = padding_position, greatest = std::numeric_limits<std::int32_t>::min();
};

enum class Coverage : std::uint8_t { Hidden, Partial, Whole };
// visible() grows with the query's position at both ends.
inline Coverage coverage(const AttentionShape& shape, PositionRange queries, PositionRange keys,
                         bool padded_keys) {
  const Visible first = visible(shape, queries.least), last = visible(shape, queries.greatest);
  if (keys.least > last.last || keys.greatest <= first.after) return Coverage::Hidden;
  const bool whole = keys.greatest <= first.last && keys.least > last.after && !padded_keys;
  return whole ? Coverage::Whole : Coverage::Partial;
}

// Positions of a block's queries or keys in whole tiles, with padding_position behind the last.
struct TiledPositions {
  std::int32_t* position;  // [tiles x 64]
  PositionRange* range;    // [tiles], without padding
};
inline std::int64_t tile_count(std::int64_t length) { return (length + tile - 1) / tile; }
// Floats that tile_positions takes.
inline std::int64_t positions_size(std::int64_t length) { return tile_count(length) * (tile + lanes); }

inline TiledPositions tile_positions(const std::int32_t* positions, std::int64_t length, float* memory) {
  const std::int64_t tiles = tile_count(length);
  TiledPositions tiled = {reinterpret_cast<std::int32_t*>(memory),
                          reinterpret_cast<PositionRange*>(memory + tiles * tile)};
  for (std::int64_t t = 0; t < tiles; ++t) {
    PositionRange range;
    for (std::int64_t i = t * tile; i < (t + 1) * tile; ++i) {
      const std::int32_t p = i < length ? position(positions, i) : padding_position;
      tiled.position[i] = p;
      if (i >= length) continue;
      range.least = std::min(range.least, p);
      range.greatest = std::max(range.greatest, p);
    }
    tiled.range[t] = range;
  }
  return tiled;
}

// A tile's scores by bands of 16 queries, each with the columns that one of its queries sees, in whole vectors;
// no band is computed beyond them.
inline constexpr std::int64_t bands = tile / lanes;
struct Band {
  std::int64_t rows = 0, begin = 0, end = 0;  // rows a multiple of 4; begin = end: nothing is seen
};
struct Bands {
  Band band[bands];
};

// The rows of queries that see some of the 16 keys from column `first` on; no others add to the gradients of
// these keys.
struct RowRange {
  std::int64_t begin = 0, end = 0;
};
inline RowRange seeing_rows(const Bands& all, std::int64_t first, std::int64_t rows) {
  RowRange range = {.begin = rows};
  for (std::int64_t g = 0; g < bands; ++g) {
    if (first < all.band[g].begin || first >= all.band[g].end) continue;
    range.begin = std::min(range.begin, g * lanes);
    range.end = std::min((g + 1) * lanes, rows);
  }
  return range;
}

inline Band seen_columns(const AttentionShape& shape, std::int64_t rows, std::int64_t columns,
                         const std::int32_t* queries, const std::int32_t* keys) {
  Band band = {.rows = rounded_up(rows, 4), .begin = columns};
  Visible seen = visible(shape, queries[0]);
  for (std::int64_t i = 1; i < rows; ++i) {
    const Visible row = visible(shape, queries[i]);
    seen = {std::min(seen.after, row.after), std::max(seen.last, row.last)};
  }
  for (std::int64_t first = 0; first < columns; first += lanes) {
    bool any = false;
    for (std::int64_t j = first; j < first + lanes; ++j) any |= keys[j] > seen.after && keys[j] <= seen.last;
    if (!any) continue;
    band.begin = std::min(band.begin, first);
    band.end = first + lanes;
  }
  if (band.end == 0) band.begin = 0;
  return band;
}

inline Bands bands_of(const AttentionShape& shape, Coverage covered, std::int64_t rows, std::int64_t columns,
                      const std::int32_t* queries, const std::int32_t* keys) {
  Bands all;
  for (std::int64_t g = 0; g < bands; ++g) {
    const std::int64_t left = std::min(rows - g * lanes, lanes);
    if (left <= 0) break;
    all.band[g] = covered == Coverage::Whole ? Band{rounded_up(left, 4), 0, columns}
                                             : seen_columns(shape, left, columns, queries + g * lanes, keys);
  }
  return all;
}

// In a tile of scores, [rows, 64], those that a query may not see become minus infinity; padding keys always
// do.
inline void hide(const AttentionShape& shape, std::int64_t rows, const std::int32_t* queries,
                 const std::int32_t* keys, float* scores) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const Visible seen = visible(shape, queries[i]);
    float* row = scores + i * tile;
#pragma omp simd
    for (std::int64_t j = 0; j < tile; ++j)
      row[j] = keys[j] > seen.after && keys[j] <= seen.last ? row[j] : minus_infinity;
  }
}

}  // namespace tandem::cpu
