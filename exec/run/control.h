// What ranks tell one another between steps, over a transport that no lane uses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/communicate/transport.h"

namespace tandem {

// Calls come from the rank's main thread while no communication is open, by all ranks in the same order.
class Control {
 public:
  explicit Control(Transport& transport) : transport_(transport) {}

  bool leads() const { return transport_.rank() == 0; }
  // On rank 0 what each rank hands in, by rank; nothing on the others, which need not wait.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> own);
  // Rank 0's value, on all ranks.
  std::uint64_t broadcast(std::uint64_t value);
  // Returns once all ranks are here.
  void barrier();
  Transport& transport() { return transport_; }

 private:
  Transport& transport_;
};

}  // namespace tandem
