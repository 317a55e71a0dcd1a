// Tells the watching process five times a second how far the ranks of this process are.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "exec/rank_program.h"
#include "exec/run/beat.h"

namespace tandem {

// Without a name to connect to, or nobody there, it does nothing. When the watching process dies, this one
// ends: no rank is left behind.
class Heartbeat {
 public:
  Heartbeat(const std::string& watched_by, std::uint32_t rank, std::uint32_t ranks, std::string machine);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // A rank whose steps begin; both outlive the heartbeat or are taken away by forget().
  void follow(const RankState&, const RankProgram&);
  void forget();
  // No task runs for a while. Counts: each pause() needs its go_on().
  void pause() { ++pauses_; }
  void go_on() { --pauses_; }
  void step_took(Nanoseconds);

  void done() { last_words(Beat::Kind::Done); }
  void failed() { last_words(Beat::Kind::Fails); }

 private:
  struct Followed {
    const RankState* state;
    const RankProgram* program;
  };
  void run();
  Beat beat();
  void last_words(Beat::Kind);

  BeatSocket socket_;
  Beat same_;  // in every beat
  std::atomic<int> pauses_{0};
  std::mutex mutex_;  // of what follows
  std::condition_variable ended_;
  std::vector<Followed> followed_;
  Nanoseconds longest_step_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tandem
