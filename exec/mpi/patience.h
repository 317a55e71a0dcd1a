// How a thread waits whose messages move only while it polls.
#pragma once
#include <cstdint>

#include "exec/signal.h"

namespace tandem {

// Yields as long as the core comes straight back. Once another thread had it, short sleeps instead: who wakes
// up gets the core at once, who yielded only after a time slice. Where nothing moves for long the sleeps are
// longer, since each costs the computation that it interrupts about 50 us.
class Patience {
 public:
  // Something moved.
  void renew() { idle_naps_ = 0, yielded_ = never; }
  // Nothing moved: how to wait.
  Rest rest();

 private:
  Nanoseconds yielded_ = never;  // when it last gave the core away, if nothing moved since
  int naps_left_ = 0;            // before it looks whether the core is free again
  int idle_naps_ = 0;            // since something moved
};

}  // namespace tandem
