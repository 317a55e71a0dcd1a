// One rank's messages of a communication, in order: what every call is turned into.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/communicate/communication_call.h"

namespace tandem {

struct Message {
  enum class Kind : std::uint8_t { Send, Receive, Combine } kind = Kind::Send;
  std::uint32_t peer = 0;  // rank
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// A message may start before the ones above it are complete, unless they touch the same bytes and one of the
// two writes. `copy` and `scaled` follow after all messages.
struct MessageList {
  std::vector<Message> messages;
  struct {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t bytes = 0;
  } copy;
  struct {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    double factor = 1;
  } scaled;
};

// The transfers of rounds() that concern this rank, on its buffers; pieces without elements are left out.
MessageList messages_of(const CollectiveCall&);
MessageList messages_of(const AllToAllVCall&);

}  // namespace tandem
