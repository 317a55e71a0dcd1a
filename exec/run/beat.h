// What ranks tell the process that watches them, and the socket between them.
#pragma once
#include <cstdint>
#include <string>

namespace tandem {

// Of one process; with several ranks in it, of the one that is furthest behind.
struct Beat {
  enum class Kind : std::uint32_t {
    Runs,
    Pauses,  // no task runs, and that is right: parameters are read, a checkpoint is written
    Done,    // the process ends in order
    Fails,   // it has said why, and ends
  } kind = Kind::Runs;
  std::uint32_t rank = 0, ranks = 1;  // one rank of it; how many it has
  std::int32_t pid = 0;
  std::int64_t progress = 0;      // any change is progress
  std::int64_t longest_step = 0;  // nanoseconds, so far
  char machine[64] = {};
  char task[160] = {};  // the last one that ended, "L3.mlp.up/fwd mb1 r0"
};

// Fixed-size messages over a UNIX socket of Linux' abstract names, which leaves no file behind.
class BeatSocket {
 public:
  // Connects; open() says whether somebody listens there.
  explicit BeatSocket(const std::string& name);
  ~BeatSocket();
  BeatSocket(const BeatSocket&) = delete;
  BeatSocket& operator=(const BeatSocket&) = delete;
  bool open() const { return file_ >= 0; }
  bool send(const Beat&);  // false: nobody listens any more

 private:
  int file_ = -1;
};

// A listening socket's file descriptor. BackendError when there can be none.
int listen_for_beats(const std::string& name);
// False: the other side is gone. Blocks for as long as there is neither.
bool receive_beat(int connection, Beat& beat);

}  // namespace tandem
