// The numbers of the messages between stages, and the order in which they are sent.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/plan/plan.h"

namespace tandem {

// Which messages the other stages send, in their order: receives must follow it.
class MessageOrder {
 public:
  MessageOrder(const Plan&, std::uint32_t positions);
  std::uint32_t number(std::uint32_t border, std::uint8_t direction, std::uint32_t microbatch,
                       bool gradient) const;
  std::uint32_t count() const { return count_; }
  struct Message {
    std::uint32_t border;
    std::uint32_t microbatch;
    bool gradient;
    std::uint8_t direction;
  };
  Message operator[](std::uint32_t number) const;
  // Messages from one stage to another in the sender's order.
  const std::vector<std::uint32_t>& between(std::uint32_t from, std::uint32_t to) const;

 private:
  std::uint32_t borders_ = 0, microbatches_ = 1, directions_ = 1, count_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> between_;
  std::vector<std::uint32_t> none_;
};

}  // namespace tandem
