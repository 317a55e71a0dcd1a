// All that touches SimGrid 3.32: configuration, a model of timed operations, links, and flows over any set of
// links.
#include "sim/simgrid_clock.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include "core/problem/problem.h"

namespace tandem {
namespace {

namespace s4u = simgrid::s4u;

// Dates nearer than this are one (s). SimGrid's own 1e-9 s would end short flows early; below the spacing of
// doubles at the horizon its loop would not end.
constexpr double kFinestDate = 1e-12, kCoarsestDate = 1e-9;
constexpr double kDatesPerHorizon = 1e-14;
// Payloads are whole numbers to SimGrid: flows count in units of 2^-20 B, or coarser ones if a flow is too
// long.
constexpr int kFinestUnit = 20;
constexpr double kMostUnits = 0x1p62;

// The longest of the ranks' sums of durations: the order of magnitude of the step.
double horizon(const PlayGraph& graph) {
  double longest = 0;
  for (const RankClass& rank : graph.ranks) {
    double sum = 0;
    for (const PlayedTask& task : graph.programs[rank.program].tasks) sum += task.duration * rank.slowdown;
    longest = std::max(longest, sum);
  }
  double communication = 0;
  for (const ChannelClass& channel : graph.channels) {
    double sum = 0;
    for (std::uint32_t e = channel.entry_begin; e < channel.entry_end; ++e)
      sum += graph.entries[e].total * graph.entries[e].count;
    communication = std::max(communication, sum);
  }
  return longest + communication;
}

double units_a_byte(const PlayGraph& graph) {
  double largest = 1;
  for (const ChannelClass& channel : graph.channels) {
    for (std::uint32_t e = channel.entry_begin; e < channel.entry_end; ++e) {
      const ChannelEntry& entry = graph.entries[e];
      if (entry.pattern == no_pattern) continue;
      const std::uint32_t pattern = channel.pattern_begin + entry.pattern;
      for (std::uint32_t p = graph.pattern_parts[pattern]; p < graph.pattern_parts[pattern + 1]; ++p) {
        largest = std::max(largest, entry.bytes * graph.parts[p].share);
      }
    }
  }
  return std::ldexp(1, std::min(kFinestUnit, std::ilogb(kMostUnits / largest)));
}

s4u::Engine* make_engine(double precision) {
  // Fair sharing by plain max-min: no correction of bandwidth, latency or window, links carry one direction
  // each.
  std::vector<std::string> arguments = {"tandem-sim",
                                        "--log=root.thres:critical",
                                        "--cfg=network/model:CM02",
                                        "--cfg=network/crosstraffic:0",
                                        "--cfg=network/TCP-gamma:0",
                                        "--cfg=network/weight-S:0",
                                        "--cfg=surf/precision:" + std::to_string(precision)};
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.3e", precision);
  arguments.back() = std::string("--cfg=surf/precision:") + digits.data();
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  // SimGrid takes Ctrl-C for itself and would end the process with a code of its own: the program's way stays.
  struct sigaction ctrl_c {};
  ::sigaction(SIGINT, nullptr, &ctrl_c);
  // Never deleted: SimGrid ends with the process.
  auto* engine = new s4u::Engine(&argc, argv.data());
  ::sigaction(SIGINT, &ctrl_c, nullptr);
  return engine;
}

}  // namespace

struct SimGridClock::State final : FlowPort {
  // The player's timed operations as a SimGrid model: the loop asks when the next one ends.
  class StreamModel final : public simgrid::kernel::resource::Model {
   public:
    explicit StreamModel(State& state) : Model("TandemStreams"), state_(state) {}
    double next_occurring_event(double now) override {
      const Player* player = state_.player;
      if (!player || state_.ended() || !player->has_timed()) return -1;
      return std::max(0.0, player->next_time() - now);
    }
    void update_actions_state(double, double) override {}

   private:
    State& state_;
  };

  explicit State(const PlayGraph& play_graph) : graph(play_graph), units(units_a_byte(play_graph)) {
    precision = std::clamp(horizon(graph) * kDatesPerHorizon, kFinestDate, kCoarsestDate);
    engine = make_engine(precision);
    zone = s4u::create_star_zone("cluster");
    source = zone->create_host("source", 1);
    sink = zone->create_host("sink", 1);
    links.reserve(graph.links.size());
    for (std::size_t l = 0; l < graph.links.size(); ++l) {
      links.push_back(zone->create_link("l" + std::to_string(l), graph.links[l].capacity * units)->seal());
    }
    add_weighted_routes();
    zone->add_route(source->get_netpoint(), nullptr, nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, false);
    zone->seal();
    model = std::make_shared<StreamModel>(*this);
    engine->add_model(model);
    s4u::Activity::on_completion_cb(
        [this](const s4u::Activity& activity) { guard([&] { flow_completed(activity); }); });
    s4u::Engine::on_time_advance_cb([this](double) { guard([&] { time_advanced(); }); });
  }

  // A link that stands for k equal flows is listed k times; only bypass routes keep such repetitions.
  void add_weighted_routes() {
    sources.assign(graph.parts.size(), nullptr);
    for (std::size_t p = 0; p < graph.parts.size(); ++p) {
      const PlayPart& part = graph.parts[p];
      const auto begin = graph.part_links.begin() + part.link_begin,
                 end = graph.part_links.begin() + part.link_end;
      if (std::all_of(begin, end, [](const WeightedLink& use) { return use.weight == 1; })) continue;
      route.clear();
      for (auto use = begin; use != end; ++use)
        route.insert(route.end(), use->weight, s4u::LinkInRoute(links[use->link]));
      sources[p] = zone->create_host("source" + std::to_string(p), 1);
      zone->add_bypass_route(sources[p]->get_netpoint(), sink->get_netpoint(), nullptr, nullptr, route);
    }
  }

  // A star route may be rewritten after the platform is sealed: each flow's route is the source's way up when
  // it starts.
  void start(std::uint32_t operation, std::uint32_t part, double bytes) override {
    s4u::Host* from = sources[part];
    if (!from) {
      from = source;
      const PlayPart& links_of = graph.parts[part];
      route.clear();
      for (std::uint32_t l = links_of.link_begin; l < links_of.link_end; ++l) {
        route.emplace_back(links[graph.part_links[l].link]);
      }
      zone->add_route(source->get_netpoint(), nullptr, nullptr, nullptr, route, false);
    }
    std::size_t slot = flows.size();
    if (free_slots.empty()) {
      flows.emplace_back();
      operations.push_back(operation);
    } else {
      slot = free_slots.back();
      free_slots.pop_back();
      operations[slot] = operation;
    }
    s4u::CommPtr comm = s4u::Comm::sendto_init();
    comm->set_data(reinterpret_cast<void*>(slot));
    comm->set_payload_size(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(bytes * units))));
    comm->set_source(from);
    flows[slot] = comm;
    comm->set_destination(sink);  // starts it
  }

  void flow_completed(const s4u::Activity& activity) {
    const auto slot = reinterpret_cast<std::size_t>(activity.get_data<void>());
    if (activity.get_state() != s4u::Activity::State::FINISHED) throw BackendError("SimGrid: a flow failed");
    finished.push_back(std::move(flows[slot]));  // an activity must outlive its own callback
    free_slots.push_back(slot);
    if (player && !ended()) player->flow_ended(operations[slot], s4u::Engine::get_clock());
  }

  void time_advanced() {
    finished.clear();
    const double now = s4u::Engine::get_clock();
    // The engine's clock is a sum of steps: it may stop a rounding short of the date.
    const double reached = now + std::max(precision, 4 * std::numeric_limits<double>::epsilon() * now);
    while (!ended() && player->has_timed() && player->next_time() <= reached) player->fire();
  }

  bool ended() const { return failure != nullptr || player->stopped(); }

  // Exceptions must not cross SimGrid's loop.
  template <class Step>
  void guard(Step step) {
    if (failure || !player) return;
    try {
      step();
    } catch (...) {
      failure = std::current_exception();
    }
  }

  const PlayGraph& graph;
  const double units;
  double precision = kFinestDate;
  Player* player = nullptr;
  std::exception_ptr failure;
  s4u::Engine* engine = nullptr;
  s4u::NetZone* zone = nullptr;
  s4u::Host *source = nullptr, *sink = nullptr;
  std::vector<s4u::Link*> links;
  std::vector<s4u::Host*> sources;  // by part: of its own weighted route, or none
  std::vector<s4u::CommPtr> flows;  // by slot
  std::vector<std::uint32_t> operations;
  std::vector<std::size_t> free_slots;
  std::vector<s4u::CommPtr> finished;
  std::vector<s4u::LinkInRoute> route;
  std::shared_ptr<StreamModel> model;
};

SimGridClock::SimGridClock(const PlayGraph& graph) : state_(std::make_unique<State>(graph)) {}
SimGridClock::~SimGridClock() = default;
FlowPort& SimGridClock::port() { return *state_; }

void SimGridClock::run(Player& player) {
  state_->player = &player;
  player.begin();
  try {
    state_->engine->run();
  } catch (const simgrid::Exception& error) {
    throw BackendError(std::string("SimGrid: Engine::run: ") + error.what());
  }
  state_->player = nullptr;
  if (state_->failure) std::rethrow_exception(state_->failure);
}

}  // namespace tandem
