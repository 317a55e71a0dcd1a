// Yielding and sleeping in turn.
#include "exec/mpi/patience.h"

namespace tandem {
namespace {

constexpr Nanoseconds short_nap = 180'000, long_nap = 1'000'000;  // of which Signal::wait sleeps 80 us less
constexpr int short_naps = 10;
constexpr Nanoseconds crowded_yield = 200'000;  // with the tests before the next rest
constexpr int naps_in_a_row = 20;

}  // namespace

Rest Patience::rest() {
  const Nanoseconds time = now();
  if (yielded_ != never && time - yielded_ > crowded_yield) naps_left_ = naps_in_a_row;
  yielded_ = never;
  if (naps_left_ > 0) {
    --naps_left_;
    return {.until = time + (idle_naps_++ < short_naps ? short_nap : long_nap)};
  }
  yielded_ = time;
  return {.yields = true};
}

}  // namespace tandem
