// The dates at which timed operations end, earliest first; equal dates leave in the order in which they came.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

struct TimedEvent {
  double time = 0;  // s
  std::uint64_t order = 0;
  std::uint32_t operation = 0;  // of the player
  std::uint32_t version = 0;    // an operation that was timed anew leaves its older dates behind
};

// A heap of four children a node: shallower than a binary one, and the children share a cache line or two.
class TimedQueue {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const TimedEvent& top() const { return heap_.front(); }

  void push(double time, std::uint32_t operation, std::uint32_t version) {
    const TimedEvent event{time, next_order_++, operation, version};
    std::size_t at = heap_.size();
    heap_.push_back(event);
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!before(event, heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = event;
  }

  TimedEvent pop() {
    const TimedEvent result = heap_.front();
    const TimedEvent last = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    if (size == 0) return result;
    std::size_t at = 0;
    for (;;) {
      const std::size_t child = 4 * at + 1;
      if (child >= size) break;
      std::size_t least = child;
      const std::size_t end = child + 4 < size ? child + 4 : size;
      for (std::size_t c = child + 1; c < end; ++c) {
        if (before(heap_[c], heap_[least])) least = c;
      }
      if (!before(heap_[least], last)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = last;
    return result;
  }

 private:
  static bool before(const TimedEvent& a, const TimedEvent& b) {
    return a.time < b.time || (a.time == b.time && a.order < b.order);
  }
  std::vector<TimedEvent> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace tandem
