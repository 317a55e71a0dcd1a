// Times collectives and messages between ranks that do nothing else.
#include "exec/calibrate/communication.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <functional>
#include <set>
#include <thread>

#include "exec/communicate/communicator.h"
#include "exec/cpu/cores.h"
#include "exec/threads/thread_ranks.h"

namespace tandem {
namespace {

using CallOf = std::function<CommunicationCall(std::uint32_t member, std::byte* data, std::byte* result)>;

// More than a core keeps close to itself.
constexpr std::size_t other_values = std::size_t{4} << 20;

// What lies around a communication in a step: a computation that has just written what is sent, while most of
// what was there before has left the near caches, and one that waits for the result.
class Surroundings {
 public:
  Surroundings(std::uint32_t member, std::uint32_t members) : other_(other_values / sizeof(float)) {
    const int core = own_cores(member, members, 1);
    if (core >= 0) bind_thread(core, 1);
    look_ = core >= 0 ? look_on_own_core : 0;
  }
  Nanoseconds look() const { return look_; }
  void compute(std::vector<float>& data) {
    for (float& value : other_) value += 1;
    std::fill(data.begin(), data.end(), other_.front());
  }

 private:
  std::vector<float> other_;
  Nanoseconds look_ = 0;
};

void carry_out(Communicator& communicator, PreparedId call, Event& computed, Event& done,
               CommunicationTimes& time) {
  communicator.enqueue({.call = call, .after = {&computed}, .done = &done, .times = &time});
  done.helped()->announce();
  computed.set();
  if (!done.wait()) communicator.throw_if_failed();
  done.helped()->dismiss();
}

// All members meet before each repeat, as after computations of equal length.
Seconds time_of(std::uint32_t members, std::size_t bytes, const CommunicationOptions& options,
                const CallOf& call_of) {
  const std::size_t repeats = static_cast<std::size_t>(options.repeats) + 1;
  ThreadRanks shared(members);
  std::barrier meeting(members);
  std::vector<std::vector<CommunicationTimes>> times(members, std::vector<CommunicationTimes>(repeats));
  std::vector<std::thread> threads;
  for (std::uint32_t member = 0; member < members; ++member) {
    threads.emplace_back([&, member] {
      Surroundings around(member, members);
      std::vector<float> data(bytes / sizeof(float) + members), result(data.size());
      std::unique_ptr<Transport> transport = shared.transport(member);
      if (options.pace) transport = paced(std::move(transport), *options.pace);
      const auto computed = std::make_unique<Event[]>(repeats), done = std::make_unique<Event[]>(repeats);
      const std::unique_ptr<Communicator> communicator = communicate_over(*transport, 1, around.look());
      const PreparedId call = communicator->prepare(call_of(member, reinterpret_cast<std::byte*>(data.data()),
                                                            reinterpret_cast<std::byte*>(result.data())));
      for (std::size_t i = 0; i < repeats; ++i) {
        around.compute(data);
        meeting.arrive_and_wait();
        carry_out(*communicator, call, computed[i], done[i], times[member][i]);
      }
      meeting.arrive_and_wait();
      communicator->drain();
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
  // Where members share cores, their work takes as much longer; a prediction adds that again.
  const double share = std::min(1.0, static_cast<double>(allowed_cores().size()) / members);
  return median(std::move(durations)) * (options.pace ? 1 : share);
}

}  // namespace

Seconds collective_time(CollectiveKind kind, Algorithm algorithm, std::size_t members, Bytes size,
                        const CommunicationOptions& options) {
  // An all-to-all sends equally much to each.
  const auto count = static_cast<std::size_t>(std::ceil(size.value / sizeof(float)));
  const std::size_t elements = (count + members - 1) / members * members;
  const auto n = static_cast<std::uint32_t>(members);
  return time_of(
      n, elements * sizeof(float), options, [&](std::uint32_t member, std::byte* data, std::byte* result) {
        CollectiveCall call{.kind = kind, .algorithm = algorithm, .data = data, .elements = elements};
        for (std::uint32_t m = 0; m < n; ++m) call.members.ranks.push_back(m);
        call.members.place = member;
        if (kind == CollectiveKind::AllToAll || kind == CollectiveKind::Shift) call.result = result;
        return call;
      });
}

Seconds message_time(Bytes size, const CommunicationOptions& options) {
  const auto bytes = static_cast<std::size_t>(std::ceil(size.value));
  return time_of(2, bytes, options,
                 [&](std::uint32_t member, std::byte* data, std::byte*) -> CommunicationCall {
                   if (member == 0) return SendCall{.to = 1, .tag = 0, .data = {data, bytes}};
                   return ReceiveCall{.from = 0, .tag = 0, .data = {data, bytes}};
                 });
}

double measure_communication(const TaskGraph& graph, const std::string& device,
                             const CommunicationOptions& options, ProfileBuilder& profile) {
  std::set<std::pair<MeasuredKind, MeasuredShape>> done;
  Seconds whole, work;  // of a core
  const auto once = [&](const MeasuredKind& kind, Bytes size, const auto& measure) {
    if (size.value <= 0 || !done.insert({kind, shape_of(size)}).second) return;
    const Seconds time = measure(options);
    profile.add(device, kind, shape_of(size), time);
    whole += time;
    work += options.pace ? std::min(time, measure({.repeats = options.repeats, .pace = {}})) : time;
  };
  for (const Work& work : graph.works) {
    if (const auto* collective = std::get_if<Collective>(&work)) {
      const std::size_t members = graph.mesh.size(collective->axis);
      const Algorithm by = carried_by(collective->kind, collective->algorithm);
      if (members < 2 || by == Algorithm::Hierarchical) continue;
      once(kind_of(*collective, by, members), collective->size, [&](const CommunicationOptions& how) {
        return collective_time(collective->kind, by, members, collective->size, how);
      });
    } else if (const auto* receive = std::get_if<Receive>(&work)) {
      once({.work = MeasuredWork::Message}, receive->size,
           [&](const CommunicationOptions& how) { return message_time(receive->size, how); });
    }
  }
  return whole.value > 0 ? work / whole : 1;
}

}  // namespace tandem
