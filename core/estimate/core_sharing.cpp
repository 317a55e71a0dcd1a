// Computations and communications of ranks that share the cores of a machine.
#include "core/estimate/core_sharing.h"

#include <algorithm>

namespace tandem {

CoreSharing::CoreSharing(const PlayGraph& graph, TimedQueue& queue)
    : graph_(graph), queue_(queue), asked_(graph.machines.size(), 0), communications_(graph.ranks.size(), 0) {}

void CoreSharing::compute(std::uint32_t operation, std::uint32_t rank, double seconds, double now) {
  begin(operation, {.remaining = seconds, .since = now, .ranks = {rank}});
}

bool CoreSharing::communicate(std::uint32_t operation, std::span<const std::uint32_t> ranks, double seconds,
                              double now) {
  Job job{.remaining = seconds, .since = now, .computes = false, .ranks = {}};
  std::ranges::copy_if(ranks, std::back_inserter(job.ranks), [&](std::uint32_t r) { return shares(r); });
  if (job.ranks.empty()) return false;
  begin(operation, std::move(job));
  return true;
}

void CoreSharing::begin(std::uint32_t operation, Job job) {
  ask(job, 1);
  job.rate = 0;  // has no date yet
  const double now = job.since;
  jobs_.emplace(operation, std::move(job));
  set_dates(now);
}

bool CoreSharing::finish(std::uint32_t operation, std::uint32_t version, double now) {
  const auto job = jobs_.find(operation);
  if (job == jobs_.end() || job->second.version != version) return false;
  ask(job->second, -1);
  jobs_.erase(job);
  set_dates(now);
  return true;
}

void CoreSharing::ask(const Job& job, int change) {
  for (const std::uint32_t rank : job.ranks) {
    const std::uint32_t machine = graph_.ranks[rank].machine;
    const SharedCores& cores = graph_.machines[machine];
    if (job.computes) {
      asked_[machine] += change * cores.threads;
      continue;
    }
    std::uint32_t& communications = communications_[rank];
    const bool idle = communications == 0;
    communications += static_cast<std::uint32_t>(change);
    if (idle || communications == 0) asked_[machine] += change * cores.communication;
  }
}

double CoreSharing::rate(const Job& job) const {
  double slowest = 1;
  for (const std::uint32_t rank : job.ranks) {
    const std::uint32_t machine = graph_.ranks[rank].machine;
    const SharedCores& cores = graph_.machines[machine];
    // What rounding asks for beyond the cores is not too much.
    const bool enough = asked_[machine] <= cores.cores * (1 + 1e-9);
    double rate = enough ? 1 : cores.cores / asked_[machine];
    if (!job.computes) {
      // The part that is no core's work goes on regardless.
      rate /= communications_[rank];
      rate = 1 - cores.communication + cores.communication * rate;
    }
    slowest = std::min(slowest, rate);
  }
  return slowest;
}

void CoreSharing::set_dates(double now) {
  for (auto& [operation, job] : jobs_) {
    const double next = rate(job);
    if (next == job.rate) continue;
    job.remaining = std::max(0.0, job.remaining - (now - job.since) * job.rate);
    job.since = now;
    job.rate = next;
    job.version = next_version_++;
    queue_.push(now + job.remaining / next, operation, job.version);
  }
}

}  // namespace tandem
