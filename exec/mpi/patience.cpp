// Yielding and sleeping in turn.
#include "exec/mpi/patience.h"

#include <algorithm>
#include <thread>

namespace tandem {
namespace {

constexpr Nanoseconds short_nap = 180'000, long_nap = 1'000'000;  // of which Signal::wait sleeps 80 us less
constexpr int short_naps = 10;
constexpr Nanoseconds crowded_yield = 200'000;
constexpr int naps_in_a_row = 20;

}  // namespace

void Patience::wait(Signal& signal, std::uint32_t seen, Nanoseconds until) {
  const Nanoseconds start = now();
  if (naps_left_ > 0) {
    --naps_left_;
    signal.wait(seen, std::min(until, start + (idle_naps_++ < short_naps ? short_nap : long_nap)));
    return;
  }
  std::this_thread::yield();
  if (now() - start > crowded_yield) naps_left_ = naps_in_a_row;
}

}  // namespace tandem
