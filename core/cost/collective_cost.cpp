// Time of a collective by NCCL's choice over algorithms and protocols.
#include "core/cost/collective_cost.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace tandem {
namespace {

// NCCL's constants in microseconds (src/graph/tuning.cc): base latency, hop inside a node (ring, tree), between
// nodes.
struct Protocol {
  std::string_view name;
  double base, ring_hop, tree_hop, pci_ring_hop, pci_tree_hop, ring_net_hop, tree_net_hop;
};
constexpr std::array<Protocol, 3> protocols = {{{"LL", 6.8, 0.6, 0.6, 1.0, 1.0, 2.7, 5},
                                                {"LL128", 14.0, 1.9, 1.25, 2.5, 1.9, 4, 8.5},
                                                {"Simple", 8.4, 3.4, 4.0, 5.7, 4.0, 14, 14}}};
const Protocol& simple() { return protocols[2]; }
bool is_simple(const Protocol& p) { return p.name == simple().name; }

constexpr double never = std::numeric_limits<double>::infinity();
double log2_ceil(std::size_t n) { return static_cast<double>(std::bit_width(n - 1)); }

// Everything below in microseconds and bytes a second.
class Chooser {
 public:
  Chooser(CollectiveKind kind, Bytes size, const Group& group, double factor)
      : kind_(kind), size_(size), g_(group), factor_(factor), several_nodes_(group.nodes > 1) {}

  void ring() {
    const bool all_reduce = kind_ == CollectiveKind::AllReduce;
    const bool rooted = kind_ == CollectiveKind::Broadcast || kind_ == CollectiveKind::Reduce;
    const double n = static_cast<double>(g_.members), nodes = static_cast<double>(g_.nodes);
    const double inside = g_.per_node_min > 1 ? g_.ring_rate() : never;
    const double rate = std::min(inside, several_nodes_ ? g_.network_rate() : never);
    for (const Protocol& p : protocols) {
      double steps = (all_reduce ? 2 : 1) * (n - 1);
      // On one node the Simple protocol pays 2 (n - 1) hops for every operation (fit).
      if (is_simple(p) && !several_nodes_) steps = 2 * (n - 1);
      const double between = !several_nodes_ ? 0 : all_reduce ? 2 * nodes : nodes - 1;
      const double hop = rooted && is_simple(p) ? tree_hop(p) : ring_hop(p);
      offer(Algorithm::Ring, p,
            p.base + std::max(0.0, steps - between) * hop + between * (p.ring_net_hop + step(p)),
            protocol_rate(p, rate));
    }
  }

  void tree() {
    const double nodes = log2_ceil(g_.nodes);
    for (const Protocol& p : protocols) {
      const double inside = static_cast<double>(g_.per_node_max) - 1;
      const double rate =
          std::min(g_.per_node_min > 1 ? g_.link_rate * g_.link.tree : never, tree_network_rate());
      offer(Algorithm::Tree, p, p.base + 2 * (inside * tree_hop(p) + nodes * (p.tree_net_hop + step(p))),
            protocol_rate(p, factor_ * rate));
    }
  }

  void nvls() {
    const double inside = g_.link_rate * interpolate(g_.link.nvls, static_cast<double>(g_.per_node_min));
    // 60, 170 us and 0.93: set on H100 and B200 nodes, alone and in pairs.
    const double latency =
        several_nodes_ ? 170 + 2 * log2_ceil(g_.nodes) * (simple().tree_net_hop + step(simple())) : 60;
    const double rate = several_nodes_ ? std::min(0.93 * inside, tree_network_rate()) : inside;
    offer(Algorithm::Nvls, simple(), latency, factor_ * rate);
  }

  void halving_doubling() {
    const double passes = kind_ == CollectiveKind::AllReduce ? 2 : 1;
    const std::size_t p = std::bit_floor(g_.members);
    const double near_rounds =
        std::min(std::floor(std::log2(static_cast<double>(g_.per_node_min))), log2_ceil(p));
    const double far_rounds = several_nodes_ ? log2_ceil(p) - near_rounds : 0;
    // Bytes as shares of the size: rounds halve it, the last ones (or first) stay inside nodes.
    const double n = static_cast<double>(p), near_members = std::exp2(near_rounds);
    double near = passes * (several_nodes_ ? (near_members - 1) / n : (n - 1) / n);
    double far = several_nodes_ ? passes * (n - near_members) / n : 0;
    double extra_rounds = 0;
    if (p != g_.members) {  // ranks beyond a power of two: their whole buffer to a neighbour and back
      extra_rounds = 2;
      near += several_nodes_ && g_.per_node_min == 1 ? 0 : passes;
      far += several_nodes_ && g_.per_node_min == 1 ? passes : 0;
    }
    const double latency = simple().base + (passes * near_rounds + extra_rounds) * ring_hop(simple()) +
                           passes * far_rounds * (simple().ring_net_hop + step(simple()));
    offer_two(Algorithm::HalvingDoubling, latency, near, g_.pair_rate(), far);
  }

  void hierarchical() {
    const double passes = kind_ == CollectiveKind::AllReduce ? 2 : 1;
    const double g = static_cast<double>(g_.per_node_max), nodes = static_cast<double>(g_.nodes);
    const double near = passes * (g - 1) / g, far = passes * (nodes - 1) / (nodes * g);
    const double latency = simple().base + passes * ((g - 1) * ring_hop(simple()) +
                                                     (nodes - 1) * (simple().ring_net_hop + step(simple())));
    offer_two(Algorithm::Hierarchical, latency, near, g_.ring_rate(), far);
  }

  void pairwise() {
    const double n = static_cast<double>(g_.members), g = static_cast<double>(g_.per_node_max);
    const double passes = kind_ == CollectiveKind::AllReduce ? 2 : 1;
    const double share = kind_ == CollectiveKind::AllToAll ? 1 : passes;
    const double near = share * (g - 1) / n, far = share * (n - static_cast<double>(g_.per_node_min)) / n;
    double latency = us(g_.link.all_to_all_step) * (g - 1);
    // No measurement between nodes. The first remote peer costs a message; the others, in flight together, an
    // LL hop each.
    if (several_nodes_) latency += message_latency() + (n - g - 1) * protocols[0].ring_net_hop;
    const double inside = g_.link_rate * interpolate(g_.link.all_to_all, several_nodes_ ? g : n);
    double seconds = g > 1 ? near / inside : 0;
    if (several_nodes_) seconds = std::max(seconds, far / (g_.device_rate * g_.network.efficiency));
    take({Algorithm::Pairwise, "", microseconds(latency), seconds});
  }

  void shift() {
    // Every member sends and receives one message; where some stay inside a node, the slower wire counts.
    Candidate pair = message_candidate(g_);
    if (g_.per_node_min > 1) pair.seconds_per_byte = std::max(pair.seconds_per_byte, 1 / g_.pair_rate());
    take(pair);
  }

  // Rings along the dimensions of a torus at once: a hop's latency a step, the wires' loads give the rate.
  void torus() {
    double steps = 0;
    for (int extent : g_.torus_extent) steps += extent - 1;
    const double passes = kind_ == CollectiveKind::AllReduce ? 2 : 1;
    const Algorithm by = kind_ == CollectiveKind::AllToAll ? Algorithm::Pairwise : Algorithm::Ring;
    take({by, "", (kind_ == CollectiveKind::Shift ? 1 : passes * steps) * g_.wire_latency, 0});
  }

  bool has_nvls() const {
    return kind_ == CollectiveKind::AllReduce && g_.link.nvls_from > 0 &&
           g_.per_node_min >= static_cast<std::size_t>(g_.link.nvls_from);
  }
  bool found() const { return best_.has_value(); }
  const Candidate& best() const { return *best_; }

 private:
  static double us(Seconds s) { return s.value * 1e6; }
  double ring_hop(const Protocol& p) const {
    return (g_.link.pci ? p.pci_ring_hop : p.ring_hop) * (is_simple(p) ? g_.link.simple_hop : 1);
  }
  double tree_hop(const Protocol& p) const { return g_.link.pci ? p.pci_tree_hop : p.tree_hop; }
  double step(const Protocol& p) const {
    if (!several_nodes_) return 0;
    return us(is_simple(p) ? g_.network.simple_step : g_.network.ll_step);
  }
  double message_latency() const {
    return simple().base + simple().ring_net_hop / 2 + us(g_.network.simple_step);
  }
  double tree_network_rate() const {
    return several_nodes_ ? g_.network_rate() / (g_.nodes == 2 ? 1 : 2) : never;
  }
  // What a protocol makes of the Simple protocol's rate.
  double protocol_rate(const Protocol& p, double rate) const {
    if (is_simple(p)) return rate;
    const bool ll = p.name == "LL";
    if (!several_nodes_) return rate * (ll ? g_.link.ll : g_.link.ll128);
    return ll ? std::min(rate / 2, g_.network.ll_cap.value) : rate / 2;
  }
  void offer(Algorithm algorithm, const Protocol& p, double latency_us, double bus_rate) {
    take({algorithm, p.name, microseconds(latency_us), bus_rate < never ? factor_ / bus_rate : 0});
  }
  // Bytes (shares of the size) inside nodes, then between them.
  void offer_two(Algorithm algorithm, double latency_us, double near, double near_rate, double far) {
    double seconds = near > 0 && near_rate > 0 ? near / near_rate : 0;
    if (far > 0) seconds += far / (g_.device_rate * g_.network.efficiency);
    take({algorithm, simple().name, microseconds(latency_us), seconds});
  }
  void take(const Candidate& candidate) {
    if (!best_ || candidate.time(size_) < best_->time(size_)) best_ = candidate;
  }

  CollectiveKind kind_;
  Bytes size_;
  const Group& g_;
  double factor_;
  bool several_nodes_;
  std::optional<Candidate> best_;
};

}  // namespace

Candidate cheapest(CollectiveKind kind, Algorithm requested, Bytes size, const Group& group, double factor) {
  Chooser choose(kind, size, group, factor);
  const Algorithm by = carried_by(kind, requested);
  const bool all_reduce = kind == CollectiveKind::AllReduce;
  if (group.torus) {
    choose.torus();
  } else if (kind == CollectiveKind::Shift) {
    choose.shift();
  } else if (by == Algorithm::Pairwise) {
    choose.pairwise();
  } else if (by == Algorithm::HalvingDoubling) {
    choose.halving_doubling();
  } else if (by == Algorithm::Hierarchical && group.per_node_min == group.per_node_max) {
    choose.hierarchical();
  } else {
    if (requested == Algorithm::Tree && all_reduce) choose.tree();
    if (requested == Algorithm::Nvls && choose.has_nvls()) choose.nvls();
    if (!choose.found()) choose.ring();
    if (requested == Algorithm::Auto) {
      if (all_reduce && group.nodes > 1) choose.tree();
      if (choose.has_nvls()) choose.nvls();
    }
  }
  return choose.best();
}

Candidate message_candidate(const Group& pair) {
  if (pair.torus) return {Algorithm::Ring, "", pair.wire_latency, 0};
  if (pair.nodes > 1) {
    const double rate = pair.device_rate * pair.network.efficiency;
    return {Algorithm::Ring, "Simple", microseconds(15.4) + pair.network.simple_step,
            rate < never ? 1 / rate : 0};
  }
  return {Algorithm::Ring, "Simple", microseconds(6), pair.pair_rate() > 0 ? 1 / pair.pair_rate() : 0};
}

}  // namespace tandem
