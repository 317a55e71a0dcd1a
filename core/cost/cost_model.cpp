// How long a work takes on a device, and a collective among devices.
#include "core/cost/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/cost/collective_cost.h"
#include "core/cost/device_costs.h"
#include "core/cost/loads.h"
#include "core/units/text.h"

namespace tandem {
namespace {

// One alternative for each kind of kernel.
template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;  // clang 14 deduces no aggregates

const FrameworkProfile& find_framework(const Calibration& calibration, const std::string& framework) {
  if (const auto found = calibration.frameworks.find(framework); found != calibration.frameworks.end())
    return found->second;
  std::vector<std::string> known;
  for (const auto& [name, profile] : calibration.frameworks) known.push_back(name);
  const std::string nearest = nearest_name(framework, known);
  throw InputError(
      {{},
       fmt::format("framework \"{}\" is unknown", framework),
       nearest.empty() ? fmt::format("one of {}", fmt::join(known, ", ")) : "did you mean " + nearest + "?"});
}

std::string measured_text(const ProfileRow& row, const MeasuredShape& shape) {
  const ProfileAnswer answer = look_up(row, shape);
  const std::string what = fmt::format("{} {}: {}", text(row.kind), text(shape), text(answer.time));
  if (answer.exact) return fmt::format("{} as measured; {}", what, row.from.source);
  return fmt::format("{} interpolated, nearest of {} measured {}: {}; {}", what, row.times.size(),
                     text(answer.nearest.shape), text(answer.nearest.time), row.from.source);
}

}  // namespace

struct CostModel::State {
  std::shared_ptr<const Calibration> calibration;
  const FrameworkProfile& framework;
  Cluster cluster;
  std::vector<DeviceCosts> devices;    // by DeviceKindId
  std::vector<const CoresRow*> cores;  // by DeviceKindId; null: no cores
  bool cores_only = true;

  State(std::shared_ptr<const Calibration> from, const std::string& name, const Cluster& machine)
      : calibration(std::move(from)), framework(find_framework(*calibration, name)), cluster(machine) {
    for (const DeviceKind& kind : cluster.kinds()) {
      devices.emplace_back(*calibration, framework, kind);
      cores.push_back(calibration->find_cores(kind.id));
      cores_only = cores_only && cores.back() != nullptr;
    }
  }
  const ProfileRow* profile(const MeasuredKind& measured, DeviceKindId kind) const {
    return calibration->find_profile(cluster.kinds()[kind.value].id, measured);
  }
  bool alike_on_one_node(std::span<const DeviceId> members) const {
    const Device& first = cluster[members[0]];
    return std::all_of(members.begin(), members.end(), [&](DeviceId member) {
      return cluster[member].node == first.node && cluster[member].kind == first.kind;
    });
  }
  // What cores of one machine send one another is copied by them, and loads no wire.
  bool meets_in_memory(std::span<const DeviceId> members) const {
    return !members.empty() && cores[cluster[members[0]].kind.value] != nullptr && alike_on_one_node(members);
  }
  // Of the kind that all members are, on one node; null: not measured.
  const ProfileRow* profile(const MeasuredKind& measured, std::span<const DeviceId> members) const {
    if (calibration->profile.empty() || !alike_on_one_node(members)) return nullptr;
    return profile(measured, cluster[members[0]].kind);
  }
  const ProfileRow* profile(const Collective& work, std::span<const DeviceId> members) const {
    return profile(kind_of(work, carried_by(work.kind, work.algorithm), members.size()), members);
  }
  const ProfileRow* message_profile(DeviceId from, DeviceId to) const {
    const DeviceId pair[] = {from, to};
    return profile({.work = MeasuredWork::Message}, pair);
  }
  const DeviceCosts& costs(DeviceKindId kind) const { return devices[kind.value]; }
  const Environment& environment() const { return calibration->environment; }
  Candidate choose(const Collective& work, const Group& group) const {
    return cheapest(work.kind, work.algorithm, work.size, group, bus_factor(work.kind, group.members));
  }
};

CostModel::CostModel(std::shared_ptr<const Calibration> calibration, const std::string& framework,
                     const Cluster& cluster)
    : state_(std::make_shared<State>(std::move(calibration), framework, cluster)) {}
CostModel::~CostModel() = default;
CostModel::CostModel(const CostModel&) = default;

ComputeCost CostModel::compute(const Compute& work, DeviceKindId kind) const {
  const DeviceCosts& costs = state_->costs(kind);
  // Host and device of a core are one, and what was measured there includes both.
  const bool core = state_->cores[kind.value] != nullptr;
  const Seconds host = core ? Seconds(0) : state_->framework.host_per_launch * std::max(work.launches, 0);
  if (const ProfileRow* row = state_->profile(kind_of(work), kind))
    return {look_up(*row, shape_of(work)).time, host};
  const Seconds device = std::visit(
      Overloaded{
          [&](const MatrixProduct& m) { return gemm_time(m, costs.gemm(m.input, m.grouped).value).time; },
          [&](const FusedAttention& a) { return attention_time(a, costs.attention(a).value); },
          [&](const MemoryPass& p) { return costs.memory_pass(p); }},
      work.kernel);
  if (core) return {device, host};
  return {device + state_->framework.kernel_gap * std::max(work.launches, 0), host};
}

ComputeCost CostModel::copy(const Copy& work, DeviceId device) const {
  const LinkTechnology* link = state_->cluster.host_link(state_->cluster[device].node);
  if (link == nullptr)
    throw InputError({{},
                      fmt::format("device {} has no link to host memory, which offloading needs", device.value),
                      "give its node type a host_link"});
  return {link->latency + work.size / (link->bandwidth * link->efficiency), state_->framework.host_per_launch};
}

ComputeCost CostModel::input(const WaitForInput& work) const {
  // The bytes reach the device over the slowest host link; the host's own time is given.
  Seconds transfer;
  const Cluster& cluster = state_->cluster;
  for (NodeId node(0); node.value < cluster.node_count(); ++node.value) {
    if (node.value > 0 && cluster[node].type == cluster[NodeId(node.value - 1)].type) continue;
    if (const LinkTechnology* link = cluster.host_link(node))
      transfer = std::max(transfer, work.size / (link->bandwidth * link->efficiency));
  }
  return {transfer, work.host};
}

CommunicationCost CostModel::collective(const Collective& work, std::span<const DeviceId> members) const {
  if (members.size() < 2) return {};
  if (const ProfileRow* row = state_->profile(work, members)) {
    const double bound = busiest_link(state_->cluster, loads(work, row->kind.algorithm, members));
    const Seconds measured = look_up(*row, shape_of(work.size)).time;
    return {.latency = {},
            .transfer = std::max(measured, Seconds(bound * work.size.value)),
            .algorithm = row->kind.algorithm,
            .protocol = {},
            .host = {}};
  }
  const Group group = group_of(state_->cluster, *state_->calibration, members);
  const Candidate best = state_->choose(work, group);
  // Never faster than the busiest link, so that a simulation without contention takes the same time.
  const double bound = busiest_link(state_->cluster, loads(work, best.algorithm, members));
  return {.latency = state_->environment().collective_start + best.latency,
          .transfer = Seconds(std::max(best.seconds_per_byte, bound) * work.size.value),
          .algorithm = best.algorithm,
          .protocol = best.protocol,
          .host = state_->cores_only
                      ? Seconds(0)
                      : state_->framework.host_per_collective +
                            state_->framework.host_per_member *
                                (work.axis == Axis::Tensor ? static_cast<double>(members.size()) : 0)};
}

CommunicationCost CostModel::message(Bytes size, DeviceId from, DeviceId to) const {
  if (from == to) return {};
  if (const ProfileRow* row = state_->message_profile(from, to)) {
    const double bound = busiest_link(state_->cluster, loads(from, to));
    const Seconds measured = look_up(*row, shape_of(size)).time;
    return {
        .latency = {}, .transfer = std::max(measured, Seconds(bound * size.value)), .protocol = {}, .host = {}};
  }
  const DeviceId pair[] = {from, to};
  const Candidate candidate = message_candidate(group_of(state_->cluster, *state_->calibration, pair));
  const double bound = busiest_link(state_->cluster, loads(from, to));
  return {
      .latency = state_->environment().collective_start + candidate.latency + state_->framework.message_start,
      .transfer = Seconds(std::max(candidate.seconds_per_byte, bound) * size.value),
      .algorithm = candidate.algorithm,
      .protocol = candidate.protocol,
      .host = state_->cores_only ? Seconds(0) : state_->framework.host_per_message};
}

std::vector<LinkLoad> CostModel::loads(const Collective& work, Algorithm chosen,
                                       std::span<const DeviceId> members) const {
  if (state_->meets_in_memory(members)) return {};
  return collective_loads(state_->cluster, work.kind, chosen, members);
}
std::vector<LinkLoad> CostModel::loads(DeviceId from, DeviceId to) const {
  const DeviceId pair[] = {from, to};
  if (state_->meets_in_memory(pair)) return {};
  return message_loads(state_->cluster, from, to);
}

double CostModel::overlap_slowdown(DeviceKindId kind) const {
  if (state_->cores[kind.value] != nullptr) return 1;  // cores are shared instead
  // Training runs fit max(compute + share * smaller, communication). Communication of length c that hides
  // behind longer computation delays it by share * c, so during c the computation runs at the rate 1 - share.
  return 1 / (1 - state_->environment().overlap_share);
}

std::optional<SharedCores> CostModel::shared_cores(DeviceId device) const {
  const CoresRow* row = state_->cores[state_->cluster[device].kind.value];
  if (row == nullptr) return std::nullopt;
  const int own = row->threads * state_->cluster.type(state_->cluster[device].node).devices;
  return SharedCores{static_cast<double>(row->count > 0 ? row->count : own), static_cast<double>(row->threads),
                     row->communication, row->jitter};
}

double CostModel::straggler_factor() const {
  return 1 + state_->environment().straggler_share *
                 std::log2(static_cast<double>(std::max<std::size_t>(1, state_->cluster.node_count())));
}

bool CostModel::host_waits_for_messages() const {
  return state_->framework.host_waits_for_messages && !state_->cores_only;
}

Seconds CostModel::host_per_step() const {
  return state_->cores_only ? Seconds(0) : state_->framework.host_per_step;
}

Bytes CostModel::held_by_allocator(Bytes allocated) const {
  return allocated * (1 + state_->framework.allocator_share);
}

Bytes CostModel::reserved_memory(DeviceKindId kind, std::size_t communicators) const {
  if (state_->cores[kind.value] != nullptr) return {};  // context and communicators of accelerators
  const Environment& e = state_->environment();
  return e.context + e.communicator * static_cast<double>(communicators);
}

std::string CostModel::explain(const Compute& work, DeviceKindId kind) const {
  if (const ProfileRow* row = state_->profile(kind_of(work), kind)) return measured_text(*row, shape_of(work));
  const DeviceCosts& costs = state_->costs(kind);
  const std::string device = std::visit(
      Overloaded{
          [&](const MatrixProduct& m) {
            const Resolved<GemmDevice>& d = costs.gemm(m.input, m.grouped);
            const GemmTime t = gemm_time(m, d.value);
            return fmt::format("{} x ({} x {}) ({} x {}) {}: {} with {}; {}", m.batch, m.m, m.k, m.k, m.n,
                               name(m.input), text(t.time), text(t, d.value), d.origin);
          },
          [&](const FusedAttention& a) {
            const Resolved<AttentionDevice> d = costs.attention(a);
            return fmt::format(
                "attention {}: {} = 4 B H s_q (s_eff {:.0f} + {:g}) d x {} / ({:.3g} of {}) + {}; {}; {}",
                a.backward ? "backward" : "forward", text(attention_time(a, d.value)),
                effective_keys(a, d.value.law.diagonal_keys), d.value.law.extra_keys, a.backward ? 2.5 : 1.0,
                d.value.share, text(d.value.peak), text(d.value.law.start), d.origin, d.value.law.from.source);
          },
          [&](const MemoryPass& p) {
            return fmt::format("{} = {}", text(costs.memory_pass(p)), costs.explain(p));
          }},
      work.kernel);
  const FrameworkProfile& f = state_->framework;
  return fmt::format("{}; host {} x {} ({}: {})", device, work.launches, text(f.host_per_launch), f.name,
                     f.from.source);
}

std::string CostModel::explain(const Collective& work, std::span<const DeviceId> members) const {
  if (members.size() < 2) return fmt::format("{} of one rank: 0 s", name(work.kind));
  if (const ProfileRow* row = state_->profile(work, members)) return measured_text(*row, shape_of(work.size));
  const Group group = group_of(state_->cluster, *state_->calibration, members);
  const CommunicationCost cost = collective(work, members);
  const Environment& e = state_->environment();
  std::string line =
      fmt::format("{} of {} over {} ranks ({} x {}): {} by {}{}{}: start {} + latency {} + {} at {}",
                  name(work.kind), text(work.size), group.members, group.nodes, group.per_node_max,
                  text(cost.latency + cost.transfer), name(cost.algorithm), cost.protocol.empty() ? "" : " ",
                  cost.protocol, text(e.collective_start), text(cost.latency - e.collective_start),
                  text(cost.transfer), cost.transfer.value > 0 ? text(work.size / cost.transfer) : "no bytes");
  if (work.algorithm != Algorithm::Auto && work.algorithm != cost.algorithm)
    line += fmt::format("; {} cannot carry it here", name(work.algorithm));
  const Candidate best = state_->choose(work, group);
  if (cost.transfer.value > best.seconds_per_byte * work.size.value * (1 + 1e-9))
    line += "; bound by its busiest link";
  if (!group.link_origin.empty()) line += "; " + group.link_origin;
  if (!group.network_origin.empty()) line += "; " + group.network_origin;
  return line + "; NCCL base and hop times of src/graph/tuning.cc";
}

}  // namespace tandem
