// What thread ranks share: a mailbox for each, in which senders and receivers find one another.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "exec/communicate/element_type.h"
#include "exec/communicate/slots.h"
#include "exec/signal.h"

namespace tandem {

struct Outgoing {
  enum class State : int { Posted, Busy, Done, Withdrawn };  // Busy: the receiver reads from data
  std::atomic<State> state{State::Posted};
  std::uint32_t from = 0, tag = 0;
  std::span<const std::byte> data;
};

struct Incoming {
  std::atomic<Outgoing*> message{nullptr};
  std::uint32_t from = 0, tag = 0;
  std::span<std::byte> data;
  std::size_t arrived = 0;
  bool combines = false;
  ElementType type = ElementType::Byte;
  Reduction reduction = Reduction::Sum;
};

// Takes the first entry of the same sender and tag, or null.
template <class T>
T* take_match(std::vector<T*>& list, std::uint32_t from, std::uint32_t tag) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](T* x) { return x->from == from && x->tag == tag; });
  if (at == list.end()) return nullptr;
  T* found = *at;
  list.erase(at);
  return found;
}

struct Mailbox {
  std::mutex mutex;  // of the two lists, in order of arrival; one of them has no match in the other
  std::vector<Outgoing*> unclaimed;  // sent to this rank, not yet received
  std::vector<Incoming*> expected;   // received by this rank, not yet sent
  Signal signal;
  // Slots are used by the rank's own thread; they live here because other ranks hold their addresses.
  Slots<Outgoing> sends;
  Slots<Incoming> receives;
};

struct Mailboxes {
  explicit Mailboxes(std::uint32_t ranks) : of_rank(ranks) {}
  std::vector<Mailbox> of_rank;
  std::atomic<bool> failed{false};
  std::mutex reason_mutex;
  std::string reason;
};

}  // namespace tandem
