// Looks at the times that tasks leave behind, beside the threads that run them.
#include "exec/run/heartbeat.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tandem {
namespace {

constexpr auto beat_time = std::chrono::milliseconds(200);

template <std::size_t n>
void put(char (&into)[n], const std::string& text) {
  std::memset(into, 0, n);
  std::memcpy(into, text.data(), std::min(text.size(), n - 1));
}

// Written by other threads meanwhile: any value it ever had will do.
template <class T>
T glance(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

struct LastTask {
  std::uint32_t task = 0;
  Nanoseconds end = 0;
};
LastTask last_task(const RankProgram& program) {
  LastTask last;
  const std::vector<CommunicationTimes>& times = program.times();
  for (std::uint32_t t = 0; t < times.size(); ++t)
    if (const Nanoseconds end = glance(times[t].end); end >= last.end) last = {t, end};
  return last;
}

}  // namespace

Heartbeat::Heartbeat(const std::string& watched_by, std::uint32_t rank, std::uint32_t ranks,
                     std::string machine)
    : socket_(watched_by) {
  same_.rank = rank;
  same_.ranks = ranks;
  same_.pid = ::getpid();
  put(same_.machine, machine);
  if (watched_by.empty() || !socket_.open()) return;
  thread_ = std::thread([this] { run(); });
}

Heartbeat::~Heartbeat() { last_words(Beat::Kind::Fails); }

void Heartbeat::follow(const RankState& state, const RankProgram& program) {
  const std::lock_guard lock(mutex_);
  followed_.push_back({&state, &program});
}
void Heartbeat::forget() {
  const std::lock_guard lock(mutex_);
  followed_.clear();
}

void Heartbeat::step_took(Nanoseconds time) {
  const std::lock_guard lock(mutex_);
  longest_step_ = std::max(longest_step_, time);
}

void Heartbeat::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!socket_.send(beat())) ::_exit(3);  // the watching process is gone, and with it whom to tell
    ended_.wait_for(lock, beat_time, [&] { return stop_; });
  }
}

Beat Heartbeat::beat() {
  Beat beat = same_;
  if (followed_.empty() || pauses_ > 0) beat.kind = Beat::Kind::Pauses;
  Nanoseconds behind = never;
  for (const Followed& rank : followed_) {
    const LastTask last = last_task(*rank.program);
    beat.progress += last.end;
    if (last.end >= behind) continue;
    behind = last.end;
    beat.rank = rank.state->rank().value;
    put(beat.task,
        task_key(rank.state->setup().graph, rank.state->rank(), rank.state->program().tasks[last.task]));
  }
  beat.longest_step = longest_step_;
  return beat;
}

void Heartbeat::last_words(Beat::Kind kind) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ended_.notify_all();
  thread_.join();
  Beat beat = same_;
  beat.kind = kind;
  socket_.send(beat);
}

}  // namespace tandem
