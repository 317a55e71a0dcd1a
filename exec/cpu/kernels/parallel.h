// Loops over a team of threads whose results have the same bits for every number of threads. Sources of kernels
// only.
#pragma once
#include <cstdint>

#include "exec/cpu/kernels/threads.h"

namespace tandem::cpu {

// Sums over rows are kept as one partial sum a chunk and added in the order of chunks; their number is fixed.
inline constexpr int chunk_count = 16;

// The place of the calling thread in its team, from 0.
int team_place();

struct Range {
  std::int64_t begin = 0, end = 0;
};
inline Range chunk_range(std::int64_t count, int chunk) {
  return {count * chunk / chunk_count, count * (chunk + 1) / chunk_count};
}

// f(chunk, begin, end) for the 16 chunks of 0 … count - 1. Waking a team costs microseconds: below some ten
// thousand elements of work the caller goes through the chunks alone. What f works on, it captures by value:
// loops over pointers that lie behind a reference become gathers.
template <class F>
void for_chunks(std::int64_t count, std::int64_t work_per_item, const F& f) {
  const bool worth_it = count * work_per_item > 30'000;
#pragma omp parallel if (worth_it)
  {
    flush_denormals();
    const F mine = f;
#pragma omp for schedule(static)
    for (int chunk = 0; chunk < chunk_count; ++chunk) {
      const Range range = chunk_range(count, chunk);
      if (range.begin < range.end) mine(chunk, range.begin, range.end);
    }
  }
}

// f(task, place) for tasks 0 … count - 1 that write to places of their own; `place` picks the thread's memory.
template <class F>
void for_tasks(std::int64_t count, const F& f) {
#pragma omp parallel if (count > 1)
  {
    flush_denormals();
    const int place = team_place();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t task = 0; task < count; ++task) f(task, place);
  }
}

}  // namespace tandem::cpu
