// Why a task could not start earlier: shared by predictions, measurements and everything that reads their
// records.
#pragma once
#include <cstdint>
#include <string_view>

namespace tandem {

enum class HeldBy : std::uint8_t {
  Nothing,     // started at once
  Lane,        // the task before it on its lane
  Dependency,  // a task of the same rank on another lane
  Peer,        // another rank: the sender of its message, or the last member to reach its collective
  Host,        // the host had not launched it yet
};
constexpr std::size_t held_by_count = 5;
std::string_view name(HeldBy);  // "nothing", "lane", "dependency", "peer", "host"

}  // namespace tandem
