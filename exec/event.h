// What one thread sets once and others wait for: the end of a task, on any lane of a rank.
#pragma once
#include <atomic>

#include "exec/signal.h"

namespace tandem {

// Must outlive every thread that sets it or waits for it. Reset only while nobody waits.
class Event {
 public:
  void set() { finish(State::Set); }
  // It will never be set: whoever waits is released and told so.
  void abandon() { finish(State::Abandoned); }
  bool is_set() const { return state() == State::Set; }
  bool is_abandoned() const { return state() == State::Abandoned; }
  // A short spin, then sleep. True: set; false: abandoned.
  bool wait() const;
  void reset() { state_.store(State::Unset, std::memory_order_release); }
  // `listener` is notified when the event is set or abandoned from now on (a thread that waits for one of
  // several events); one listener at a time, null: none. Look at the state after this call, not before.
  void tell(Signal* listener) { listener_.store(listener, std::memory_order_seq_cst); }

 private:
  enum class State : int { Unset, Set, Abandoned };
  State state() const { return state_.load(std::memory_order_seq_cst); }
  void finish(State state);

  std::atomic<State> state_{State::Unset};
  std::atomic<Signal*> listener_{nullptr};
};

}  // namespace tandem
