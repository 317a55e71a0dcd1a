// Setting an event, and waiting for it.
#include "exec/event.h"

namespace tandem {

void Event::finish(State state) {
  state_.store(state, std::memory_order_seq_cst);
  state_.notify_all();
  if (Signal* listener = listener_.load(std::memory_order_seq_cst)) listener->notify();
}

bool Event::wait() const {
  // Most waits are short or long: looking for a moment spares the short ones the price of sleeping and waking.
  constexpr Nanoseconds spin = 5'000;
  if (Helped* helped = is_open() ? this->helped() : nullptr) helped->help_until(*this);
  State seen = state();
  if (seen == State::Unset) {
    for (const Nanoseconds end = now() + spin; seen == State::Unset && now() < end; seen = state())
      __builtin_ia32_pause();
  }
  for (; seen == State::Unset; seen = state()) state_.wait(State::Unset);
  return seen == State::Set;
}

}  // namespace tandem
