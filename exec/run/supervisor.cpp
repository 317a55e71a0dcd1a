// The first sign of a failure counts: what other ranks do after it follows from it.
#include "exec/run/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "core/problem/problem.h"
#include "exec/run/beat.h"
#include "exec/run/local_place.h"
#include "exec/signal.h"

namespace tandem {
namespace {

constexpr int poll_ms = 20;
constexpr Nanoseconds second = 1'000'000'000;
constexpr Nanoseconds patience = second;  // between asking ranks to end, and killing them

struct Rank {
  Beat last;
  bool heard = false, ended = false;  // ended: it took its leave
  Nanoseconds moved = 0, spoke = 0;   // when it last got on; when it last said anything
};

std::string signal_text(int number) {
  const char* name = ::strsignal(number);
  return fmt::format("signal {} ({})", number, name != nullptr ? name : "unknown");
}

class Watch {
 public:
  explicit Watch(const WatchOptions& options)
      : options_(options),
        socket_(fmt::format("tandem-run-{}-{}", ::getpid(), now())),
        listener_(listen_for_beats(socket_)),
        child_(options.command, fmt::format("{}={}", watch_variable, socket_),
               options.through_mpirun ? SIGTERM : SIGKILL) {}
  ~Watch() {
    for (const auto& [file, rank] : ranks_) ::close(file);
    ::close(listener_);
    kill_ranks();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  WatchResult run() {
    while (!child_.ended()) {
      hear();
      if (result_.failure.empty()) find_hang();
      pass_on_interrupt();
      if (failed_at_ != 0) end_all();
    }
    for (int left = 50; !ranks_.empty() && left > 0; --left) hear();  // their last words
    return result();
  }

 private:
  void hear() {
    std::vector<pollfd> files = {{listener_, POLLIN, 0}};
    for (const auto& [file, rank] : ranks_) files.push_back({file, POLLIN, 0});
    if (::poll(files.data(), files.size(), poll_ms) <= 0) return;
    for (const pollfd& ready : files) {
      if (ready.revents == 0) continue;
      if (ready.fd == listener_)
        accept_one();
      else
        hear_from(ready.fd);
    }
  }

  void accept_one() {
    if (const int file = ::accept(listener_, nullptr, nullptr); file >= 0) ranks_[file].moved = now();
  }

  void hear_from(int file) {
    Rank& rank = ranks_[file];
    Beat beat;
    if (!receive_beat(file, beat)) {
      if (!rank.ended) fail(file, "ended");
      pids_.erase(rank.last.pid);
      ::close(file);
      ranks_.erase(file);
      return;
    }
    if (!rank.heard || beat.progress != rank.last.progress || beat.kind == Beat::Kind::Pauses)
      rank.moved = now();
    rank.ended = beat.kind == Beat::Kind::Done || beat.kind == Beat::Kind::Fails;
    if (beat.kind == Beat::Kind::Done) done_ += beat.ranks;
    if (beat.kind == Beat::Kind::Fails && failed_at_ == 0) {
      result_.said = true;
      fail(file, "failed");
    }
    if (rank.ended) return;
    rank.heard = true;
    rank.spoke = now();
    rank.last = beat;
    pids_[beat.pid] = beat.rank;
    if (beat.rank == 0 || beat.ranks > 1) first_pid_ = beat.pid;
  }

  // Who waits for a rank that hangs stands still as well: the one that is silent is meant, or else the one that
  // stopped first.
  void find_hang() {
    bool hang = false;
    std::pair<Nanoseconds, int> silent{never, -1}, first{never, -1};
    for (const auto& [file, rank] : ranks_) {
      if (!rank.heard || rank.ended) continue;
      hang |= now() - rank.moved >= limit(rank.last);
      first = std::min(first, {rank.moved, file});
      if (now() - rank.spoke > second) silent = std::min(silent, {rank.spoke, file});
    }
    if (!hang) return;
    const auto [since, file] = silent.second >= 0 ? silent : first;
    fail(file, fmt::format("hangs: nothing moved for {:.1f} s",
                           static_cast<double>(now() - since) / static_cast<double>(second)));
    hangs_ = true;
  }
  Nanoseconds limit(const Beat& last) const {
    return std::max(static_cast<Nanoseconds>(options_.hang_timeout * static_cast<double>(second)),
                    20 * last.longest_step);
  }

  void fail(int file, const std::string& what) {
    if (failed_at_ != 0) return;
    failed_at_ = now();
    const Beat& last = ranks_[file].last;
    result_.failure = fmt::format("{} on {} (pid {}) {}", who(last), last.machine, last.pid, what);
    if (last.task[0] != '\0') after_ = fmt::format("after {}", last.task);
  }
  static std::string who(const Beat& beat) {
    if (beat.ranks > 1) return fmt::format("the process of all {} ranks", beat.ranks);
    return fmt::format("rank {}", beat.rank);
  }

  void pass_on_interrupt() {
    if (interrupted_ || !options_.interrupted()) return;
    interrupted_ = true;
    if (first_pid_ > 0)
      ::kill(first_pid_, SIGINT);
    else
      child_.signal(options_.through_mpirun ? SIGTERM : SIGINT);  // nothing runs yet
  }

  // mpirun ends the others by itself, and then says by its code what became of the one that died.
  void end_all() {
    const Nanoseconds waited = now() - failed_at_;
    if (hangs_ || waited > patience) kill_ranks();
    if (waited > patience / 2) child_.signal(SIGTERM);
    if (waited > 2 * patience) child_.signal(SIGKILL);
  }
  void kill_ranks() {
    for (const auto& [pid, rank] : pids_) ::kill(pid, SIGKILL);
  }

  WatchResult result() {
    const ChildEnd end = *child_.ended();
    result_.code = end.shell_code();
    if (end.code == 127 && pids_.empty() && first_pid_ == 0)
      throw BackendError(fmt::format("{} cannot be started{}", options_.command.front(),
                                     options_.through_mpirun ? " (Debian: apt-get install openmpi-bin)" : ""));
    if (result_.failure.empty() && (end.signal != 0 || (options_.through_mpirun && end.code > 128)))
      note_silent_death(result_.code - 128);
    else if (!result_.failure.empty() && !hangs_ && !result_.said && result_.code > 128)
      result_.failure = fmt::format("{} by {}", result_.failure, signal_text(result_.code - 128));
    if (!after_.empty()) result_.failure += ", " + after_;
    return result_;
  }

  // Of ranks that are not heard yet, or not any more: in the start and the end of their process, and of MPI.
  void note_silent_death(int signal) {
    if (done_ >= options_.ranks) {
      result_.code = 0;  // all had done and written everything
      return;
    }
    result_.failure = fmt::format(
        "{} on {} was killed by {} {}", options_.through_mpirun ? "a rank" : "the process of all ranks",
        machine_name(), signal_text(signal), done_ > 0 ? "after its last step" : "before its first step");
  }

  const WatchOptions& options_;
  std::string socket_;
  int listener_;
  std::map<int, Rank> ranks_;            // by connection
  std::map<pid_t, std::uint32_t> pids_;  // that still run
  pid_t first_pid_ = 0;                  // rank 0's process
  std::size_t done_ = 0;                 // ranks that took their leave in order
  WatchResult result_;
  std::string after_;  // the last task
  Nanoseconds failed_at_ = 0;
  bool hangs_ = false, interrupted_ = false;
  ChildProcess child_;
};

}  // namespace

WatchResult watch_ranks(const WatchOptions& options) { return Watch(options).run(); }

}  // namespace tandem
