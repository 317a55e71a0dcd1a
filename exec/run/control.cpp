// A star around rank 0: what is said here is short and seldom.
#include "exec/run/control.h"

namespace tandem {
namespace {

constexpr std::uint32_t tag = 0;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> writable_bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

std::vector<std::vector<std::byte>> Control::gather(std::span<const std::byte> own) {
  if (!leads()) {
    const std::uint64_t size = own.size();
    complete(transport_, transport_.send(0, tag, bytes_of(size)));
    if (size > 0) complete(transport_, transport_.send(0, tag, own));
    return {};
  }
  std::vector<std::vector<std::byte>> all(transport_.ranks());
  all[0].assign(own.begin(), own.end());
  for (std::uint32_t rank = 1; rank < all.size(); ++rank) {
    std::uint64_t size = 0;
    complete(transport_, transport_.receive(rank, tag, writable_bytes_of(size)));
    all[rank].resize(size);
    if (size > 0) complete(transport_, transport_.receive(rank, tag, all[rank]));
  }
  return all;
}

std::uint64_t Control::broadcast(std::uint64_t value) {
  if (!leads()) {
    complete(transport_, transport_.receive(0, tag, writable_bytes_of(value)));
    return value;
  }
  std::vector<Request> open;
  for (std::uint32_t rank = 1; rank < transport_.ranks(); ++rank)
    open.push_back(transport_.send(rank, tag, bytes_of(value)));
  for (const Request request : open) complete(transport_, request);
  return value;
}

void Control::barrier() {
  gather({});
  broadcast(0);
}

}  // namespace tandem
