// Messages between ranks, nonblocking: what an algorithm of communication stands on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "exec/communicate/element_type.h"
#include "exec/signal.h"

namespace tandem {

// A send or receive in progress. Belongs to the transport that gave it, until test() says Done.
struct Request {
  std::uint32_t index = 0;
};

// What a call that must not block has reached.
enum class Advance : std::uint8_t { Blocked, Moved, Done };

// One rank's side. Messages match by (sender, tag), in the order in which they were sent and received; both
// sides name the same size. Buffers stay the caller's and must not change (a send's) or be touched (a
// receive's) until Done. Used by one thread at a time. Any call may throw BackendError, also because another
// rank gave up.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t ranks() const = 0;

  virtual Request send(std::uint32_t to, std::uint32_t tag, std::span<const std::byte> data) = 0;
  virtual Request receive(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data) = 0;
  // What arrives is combined with what `data` holds.
  virtual Request receive_combine(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data, ElementType,
                                  Reduction) = 0;
  // Moves the message on by a bounded amount of work. After Done the request is void.
  virtual Advance test(Request) = 0;

  // Moves on whenever a request of this rank may have got further. Others may notify it, to end a wait.
  virtual Signal& signal() = 0;
  // How to wait when no request moved: on the signal's value of before the requests were tested.
  virtual Rest rest() = 0;

  // This rank gives up: its buffers are left alone from now on, and where the transport can, the calls of all
  // other ranks throw BackendError with this reason. Later calls of this rank throw as well.
  virtual void give_up(std::string_view reason) noexcept = 0;
};

// Waits for a request, for code that has nothing else to do.
void complete(Transport&, Request);

}  // namespace tandem
