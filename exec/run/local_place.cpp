// Rank 0 counts, and tells each rank.
#include "exec/run/local_place.h"

#include <unistd.h>

#include <map>

namespace tandem {
namespace {

constexpr std::uint32_t tag = 2;

}  // namespace

LocalPlace local_place(Control& control, const std::string& machine) {
  LocalPlace own;
  Transport& transport = control.transport();
  const auto names = control.gather(std::as_bytes(std::span(machine)));
  if (!control.leads()) {
    complete(transport, transport.receive(0, tag, std::as_writable_bytes(std::span(&own, 1))));
    return own;
  }
  const auto name_of = [&](std::size_t rank) {
    return std::string(reinterpret_cast<const char*>(names[rank].data()), names[rank].size());
  };
  std::map<std::string, std::uint32_t> ranks;
  std::vector<LocalPlace> places;
  for (std::size_t rank = 0; rank < names.size(); ++rank) places.push_back({.place = ranks[name_of(rank)]++});
  for (std::uint32_t rank = 0; rank < places.size(); ++rank) {
    places[rank].ranks = ranks[name_of(rank)];
    places[rank].machines = static_cast<std::uint32_t>(ranks.size());
    if (rank > 0) complete(transport, transport.send(rank, tag, std::as_bytes(std::span(&places[rank], 1))));
  }
  return places[0];
}

std::string machine_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace tandem
