// Times collectives and messages between ranks that do nothing else.
#include "exec/calibrate/communication.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <set>
#include <thread>

#include "exec/communicate/communicator.h"
#include "exec/threads/thread_ranks.h"

namespace tandem {
namespace {

using CallOf = std::function<CommunicationCall(std::uint32_t member, std::byte* data, std::byte* result)>;

// All members meet before each repeat, as after computations of equal length.
Seconds time_of(std::uint32_t members, std::size_t bytes, int repeats, const CallOf& call_of) {
  ThreadRanks shared(members);
  std::barrier meeting(members);
  std::vector<std::vector<CommunicationTimes>> times(members, std::vector<CommunicationTimes>(repeats + 1));
  std::vector<std::thread> threads;
  for (std::uint32_t member = 0; member < members; ++member) {
    threads.emplace_back([&, member] {
      std::vector<float> data(bytes / sizeof(float) + members), result(data.size());
      const std::unique_ptr<Transport> transport = shared.transport(member);
      const std::unique_ptr<Communicator> communicator = communicate_over(*transport, 1);
      const PreparedId call = communicator->prepare(call_of(member, reinterpret_cast<std::byte*>(data.data()),
                                                            reinterpret_cast<std::byte*>(result.data())));
      for (CommunicationTimes& time : times[member]) {
        meeting.arrive_and_wait();
        communicator->enqueue({.call = call, .times = &time});
        communicator->drain();
      }
      meeting.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<Seconds> durations;
  for (std::size_t i = 1; i < times[0].size(); ++i) {
    Nanoseconds start = 0, end = 0;
    for (const auto& member : times)
      start = std::max(start, member[i].start), end = std::max(end, member[i].end);
    durations.emplace_back(static_cast<double>(end - start) * 1e-9);
  }
  return median(std::move(durations));
}

}  // namespace

Seconds collective_time(CollectiveKind kind, Algorithm algorithm, std::size_t members, Bytes size,
                        int repeats) {
  // An all-to-all sends equally much to each.
  const auto count = static_cast<std::size_t>(std::ceil(size.value / sizeof(float)));
  const std::size_t elements = (count + members - 1) / members * members;
  const auto n = static_cast<std::uint32_t>(members);
  return time_of(
      n, elements * sizeof(float), repeats, [&](std::uint32_t member, std::byte* data, std::byte* result) {
        CollectiveCall call{.kind = kind, .algorithm = algorithm, .data = data, .elements = elements};
        for (std::uint32_t m = 0; m < n; ++m) call.members.ranks.push_back(m);
        call.members.place = member;
        if (kind == CollectiveKind::AllToAll || kind == CollectiveKind::Shift) call.result = result;
        return call;
      });
}

Seconds message_time(Bytes size, int repeats) {
  const auto bytes = static_cast<std::size_t>(std::ceil(size.value));
  return time_of(2, bytes, repeats,
                 [&](std::uint32_t member, std::byte* data, std::byte*) -> CommunicationCall {
                   if (member == 0) return SendCall{.to = 1, .tag = 0, .data = {data, bytes}};
                   return ReceiveCall{.from = 0, .tag = 0, .data = {data, bytes}};
                 });
}

void measure_communication(const TaskGraph& graph, const std::string& device, int repeats,
                           ProfileBuilder& profile) {
  std::set<std::pair<MeasuredKind, MeasuredShape>> done;
  const auto once = [&](const MeasuredKind& kind, Bytes size, const auto& measure) {
    if (size.value <= 0 || !done.insert({kind, shape_of(size)}).second) return;
    profile.add(device, kind, shape_of(size), measure());
  };
  for (const Work& work : graph.works) {
    if (const auto* collective = std::get_if<Collective>(&work)) {
      const std::size_t members = graph.mesh.size(collective->axis);
      const Algorithm by = carried_by(collective->kind, collective->algorithm);
      if (members < 2 || by == Algorithm::Hierarchical) continue;
      once(kind_of(*collective, by, members), collective->size,
           [&] { return collective_time(collective->kind, by, members, collective->size, repeats); });
    } else if (const auto* receive = std::get_if<Receive>(&work)) {
      once({.work = MeasuredWork::Message}, receive->size,
           [&] { return message_time(receive->size, repeats); });
    }
  }
}

}  // namespace tandem
