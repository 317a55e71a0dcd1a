// What one thread sets once and others wait for: the end of a task, on any lane of a rank.
#pragma once
#include <atomic>

#include "exec/signal.h"

namespace tandem {

class Event;

// Who brings events about, and takes help: a thread that waits for one lends itself instead of sleeping, which
// spares the change to another thread.
class Helped {
 public:
  virtual ~Helped() = default;
  // Does the work until the event is set or abandoned. Returns at once when nobody works any more.
  virtual void help_until(const Event&) = 0;
  // The calling thread is about to help: from announce() to dismiss() nobody else need be woken for the work.
  virtual void announce() = 0;
  virtual void dismiss() = 0;
};

// Must outlive every thread that sets it or waits for it. Reset only while nobody waits.
class Event {
 public:
  void set() { finish(State::Set); }
  // It will never be set: whoever waits is released and told so.
  void abandon() { finish(State::Abandoned); }
  bool is_set() const { return state() == State::Set; }
  bool is_abandoned() const { return state() == State::Abandoned; }
  // Helps who brings it about, or looks for a moment and sleeps. True: set; false: abandoned.
  bool wait() const;
  void reset() { state_.store(State::Unset, std::memory_order_release); }
  // `listener` is notified when the event is set or abandoned from now on (a thread that waits for one of
  // several events); one listener at a time, null: none. Look at the state after this call, not before.
  void tell(Signal* listener) { listener_.store(listener, std::memory_order_seq_cst); }
  // Null: nobody who takes help. Must live as long as anybody waits.
  void brought_by(Helped* helped) { helped_.store(helped, std::memory_order_release); }
  Helped* helped() const { return helped_.load(std::memory_order_acquire); }
  bool is_open() const { return state() == State::Unset; }

 private:
  enum class State : int { Unset, Set, Abandoned };
  State state() const { return state_.load(std::memory_order_seq_cst); }
  void finish(State state);

  std::atomic<State> state_{State::Unset};
  std::atomic<Signal*> listener_{nullptr};
  std::atomic<Helped*> helped_{nullptr};
};

}  // namespace tandem
