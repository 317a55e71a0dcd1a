// Ranks as threads of one process: a receiver copies or adds straight from the sender's buffer.
#pragma once
#include <cstdint>
#include <memory>

#include "exec/communicate/transport.h"

namespace tandem {

struct Mailboxes;

// The shared part; must outlive its transports.
class ThreadRanks {
 public:
  explicit ThreadRanks(std::uint32_t ranks);
  ~ThreadRanks();
  // Once for each rank. Destroying it with requests open makes the rank give up.
  std::unique_ptr<Transport> transport(std::uint32_t rank);

 private:
  std::unique_ptr<Mailboxes> boxes_;
};

}  // namespace tandem
