// Sequenced packets: a beat is whole or not there.
#include "exec/run/beat.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "core/problem/problem.h"

namespace tandem {
namespace {

struct Address {
  sockaddr_un address{};
  socklen_t length;
  explicit Address(const std::string& name) {
    address.sun_family = AF_UNIX;
    const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), size);  // a leading zero: abstract
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

int open_socket() { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }

}  // namespace

BeatSocket::BeatSocket(const std::string& name) : file_(open_socket()) {
  const Address address(name);
  if (file_ < 0 || ::connect(file_, address.get(), address.length) == 0) return;
  ::close(file_);
  file_ = -1;
}
BeatSocket::~BeatSocket() {
  if (file_ >= 0) ::close(file_);
}
bool BeatSocket::send(const Beat& beat) {
  return ::send(file_, &beat, sizeof beat, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof beat);
}

int listen_for_beats(const std::string& name) {
  const int file = open_socket();
  const Address address(name);
  if (file < 0 || ::bind(file, address.get(), address.length) != 0 || ::listen(file, 1024) != 0) {
    const std::string why = std::strerror(errno);
    if (file >= 0) ::close(file);
    throw BackendError(fmt::format("no socket to watch ranks with: {}", why));
  }
  return file;
}

bool receive_beat(int connection, Beat& beat) {
  return ::recv(connection, &beat, sizeof beat, 0) == static_cast<ssize_t>(sizeof beat);
}

}  // namespace tandem
