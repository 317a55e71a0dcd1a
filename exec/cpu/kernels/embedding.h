// Table lookup by token, position or type, with a part of the table's rows on this rank.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/element.h"

namespace tandem::cpu {

// Rows first_row … first_row + rows - 1 of a table are held here, [rows, width].
struct TableShard {
  std::int64_t first_row = 0, rows = 0, width = 0;
};

// y [count, width]: the row of each id, 0 for ids whose rows others hold; written, or added to what is there.
template <class T>
void embedding_forward(const TableShard& shard, std::int64_t count, const std::int32_t* ids, const T* table,
                       Write write, T* y);
// dtable [rows, width] +=, in the order of ids.
template <class T>
void embedding_backward(const TableShard& shard, std::int64_t count, const std::int32_t* ids, const T* dy,
                        float* dtable);

}  // namespace tandem::cpu
