// A thread rank's side: the second to arrive, sender or receiver, finds the first; the receiver copies.
#include "exec/threads/thread_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "core/problem/problem.h"
#include "exec/threads/mailbox.h"

namespace tandem {
namespace {

// Bytes that one test() copies: about 50 us, so that other messages get their turn.
constexpr std::size_t bite = std::size_t{512} << 10;
// How long a rank looks for news before it sleeps. A sleeper that is woken gets its core at once, also from the
// rank's own computation; one that yields would get it only after a time slice.
constexpr Nanoseconds look_before_sleep = 5'000;

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(Mailboxes& boxes, std::uint32_t rank)
      : boxes_(boxes), own_(boxes.of_rank[rank]), rank_(rank) {}
  ~ThreadTransport() override {
    if (!own_.sends.empty() || !own_.receives.empty()) give_up("it ended with messages open");
  }
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(boxes_.of_rank.size()); }

  Request send(std::uint32_t to, std::uint32_t tag, std::span<const std::byte> data) override {
    throw_if_failed();
    const std::uint32_t index = own_.sends.take();
    Outgoing& message = own_.sends[index];
    message.state.store(Outgoing::State::Posted, std::memory_order_relaxed);
    message.from = rank_;
    message.tag = tag;
    message.data = data;
    Mailbox& box = boxes_.of_rank[to];
    {
      const std::lock_guard lock(box.mutex);
      if (Incoming* receive = take_match(box.expected, rank_, tag))
        receive->message.store(&message, std::memory_order_release);
      else
        box.unclaimed.push_back(&message);
    }
    box.signal.notify();
    return {index << 1};
  }

  Request receive(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data) override {
    return expect(from, tag, data, false, ElementType::Byte, Reduction::Sum);
  }
  Request receive_combine(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data, ElementType type,
                          Reduction reduction) override {
    return expect(from, tag, data, true, type, reduction);
  }

  Advance test(Request request) override {
    throw_if_failed();
    const std::uint32_t index = request.index >> 1;
    if (request.index & 1) {
      const Advance advance = take_bite(own_.receives[index]);
      if (advance == Advance::Done) own_.receives.give_back(index);
      return advance;
    }
    if (own_.sends[index].state.load(std::memory_order_acquire) != Outgoing::State::Done)
      return Advance::Blocked;
    own_.sends.give_back(index);
    return Advance::Done;
  }

  Signal& signal() override { return own_.signal; }
  Rest rest() override { return {.look = look_before_sleep}; }

  void give_up(std::string_view reason) noexcept override {
    {
      const std::lock_guard lock(boxes_.reason_mutex);
      if (!boxes_.failed) boxes_.reason = fmt::format("rank {} gave up: {}", rank_, reason);
      boxes_.failed = true;
    }
    own_.sends.for_each([](Outgoing& message) {
      for (auto posted = Outgoing::State::Posted;
           !message.state.compare_exchange_weak(posted, Outgoing::State::Withdrawn) &&
           (posted == Outgoing::State::Busy || posted == Outgoing::State::Posted);
           posted = Outgoing::State::Posted)
        std::this_thread::yield();
    });
    for (Mailbox& box : boxes_.of_rank) box.signal.notify();
  }

 private:
  void throw_if_failed() const {
    if (!boxes_.failed.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(boxes_.reason_mutex);
    throw BackendError(boxes_.reason);
  }

  Request expect(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data, bool combines,
                 ElementType type, Reduction reduction) {
    throw_if_failed();
    const std::uint32_t index = own_.receives.take();
    Incoming& receive = own_.receives[index];
    receive.message.store(nullptr, std::memory_order_relaxed);
    receive.from = from;
    receive.tag = tag;
    receive.data = data;
    receive.arrived = 0;
    receive.combines = combines;
    receive.type = type;
    receive.reduction = reduction;
    const std::lock_guard lock(own_.mutex);
    if (Outgoing* message = take_match(own_.unclaimed, from, tag))
      receive.message.store(message, std::memory_order_release);
    else
      own_.expected.push_back(&receive);
    return {index << 1 | 1};
  }

  Advance take_bite(Incoming& receive) {
    Outgoing* message = receive.message.load(std::memory_order_acquire);
    if (!message) return Advance::Blocked;
    auto posted = Outgoing::State::Posted;
    if (!message->state.compare_exchange_strong(posted, Outgoing::State::Busy, std::memory_order_acquire))
      throw BackendError(fmt::format("rank {} withdrew a message to rank {}", receive.from, rank_));
    const bool equal = message->data.size() == receive.data.size();
    const std::size_t bytes = equal ? std::min(bite, receive.data.size() - receive.arrived) : 0;
    const std::byte* source = message->data.data() + receive.arrived;
    std::byte* target = receive.data.data() + receive.arrived;
    if (receive.combines && bytes > 0)
      combine(receive.type, receive.reduction, target, source, bytes);
    else if (bytes > 0)
      std::memcpy(target, source, bytes);
    receive.arrived += bytes;
    const bool complete = equal && receive.arrived == receive.data.size();
    Signal& sender = boxes_.of_rank[receive.from].signal;
    message->state.store(complete ? Outgoing::State::Done : Outgoing::State::Posted, std::memory_order_release);
    check(equal, "sender and receiver name different sizes of a message");
    if (!complete) return Advance::Moved;
    sender.notify();
    return Advance::Done;
  }

  Mailboxes& boxes_;
  Mailbox& own_;
  std::uint32_t rank_;
};

}  // namespace

ThreadRanks::ThreadRanks(std::uint32_t ranks) : boxes_(std::make_unique<Mailboxes>(ranks)) {}
ThreadRanks::~ThreadRanks() = default;
std::unique_ptr<Transport> ThreadRanks::transport(std::uint32_t rank) {
  check(rank < boxes_->of_rank.size(), "no such rank");
  return std::make_unique<ThreadTransport>(*boxes_, rank);
}

}  // namespace tandem
