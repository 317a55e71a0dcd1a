// Where each value lies in one block of memory: two values share bytes only if one is surely dead before the
// other begins.
#pragma once
#include "core/dataflow/data_flow.h"

namespace tandem {

constexpr std::size_t arena_alignment = 64;  // bytes: a cache line, the widest vector

struct ArenaPlan {
  IndexedVector<ValueId, std::size_t> offset;  // bytes
  std::size_t size = 0;                        // bytes of the whole block
};

// Values that live all step long come first; the others take the lowest free place in the order in which they
// begin.
ArenaPlan plan_arena(const DataFlow&, const Program&);

}  // namespace tandem
