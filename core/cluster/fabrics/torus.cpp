// Torus of any dimensions over devices (TPU pods), always wrapped, dimension-ordered routing: first along the
// first dimension, the shorter way round. Each device has a wire each way to each of its 2 x dimensions
// neighbours.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/cluster/layout.h"

namespace tandem {
namespace {

class Torus final : public LayoutFabric {
 public:
  explicit Torus(Layout& layout) : LayoutFabric(layout), sizes_(layout.spec.fabric.torus) {
    first_ = LinkId(layout.links.size());
    for (std::size_t i = 0; i < layout.devices.size(); ++i) {
      int stride = 1;
      for (int size : sizes_) {
        const int at = static_cast<int>(i) / stride % size;
        for (const int step : {1, size - 1}) {
          const std::size_t peer =
              i + static_cast<std::size_t>((at + step) % size) * static_cast<std::size_t>(stride) -
              static_cast<std::size_t>(at) * static_cast<std::size_t>(stride);
          layout.add_fabric_link(std::min(wire(DeviceId(i)), wire(DeviceId(peer))), true);
        }
        stride *= size;
      }
    }
  }

  bool uses_ports() const override { return false; }

  void append_route(DeviceId from, DeviceId to, std::vector<LinkId>& links) const override {
    std::uint32_t at = from.value;
    std::uint32_t stride = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const auto size = static_cast<std::uint32_t>(sizes_[d]);
      std::uint32_t place = at / stride % size;
      const int steps =
          torus_steps(static_cast<int>(place), static_cast<int>(to.value / stride % size), sizes_[d]);
      for (int i = 0; i < std::abs(steps); ++i) {
        links.push_back(link(at, d, steps > 0));
        const std::uint32_t next = (place + (steps > 0 ? 1 : size - 1)) % size;
        at = at + next * stride - place * stride;
        place = next;
      }
      stride *= size;
    }
  }

  int hops(DeviceId from, DeviceId to) const override {
    int sum = 0;
    int stride = 1;
    for (int size : sizes_) {
      sum += std::abs(torus_steps(static_cast<int>(from.value) / stride % size,
                                  static_cast<int>(to.value) / stride % size, size));
      stride *= size;
    }
    return sum;
  }

  // Scale-up wires cost their latency each; through network ports the adapters count once and the rest are
  // switches.
  Seconds latency(DeviceId from, DeviceId to) const override {
    const NodeId node = layout_.devices[from].node;
    const LinkTechnology& technology = *wire_technology(node);
    const int wires = hops(from, to);
    if (layout_.types[layout_.nodes[node].type.value].ports == 0) return technology.latency * wires;
    return technology.latency + technology.switch_latency * (wires - 1);
  }

  std::string link_name(LinkId id) const override {
    const std::uint32_t offset = id.value - first_.value;
    const auto wires = static_cast<std::uint32_t>(2 * sizes_.size());
    return fmt::format("device{}.dimension{}{}", offset / wires, offset % wires / 2,
                       offset % 2 == 0 ? '+' : '-');
  }

  void append_all_to_all(std::span<const DeviceId> members, std::vector<LinkLoad>& loads) const override;

 private:
  const LinkTechnology* wire_technology(NodeId node) const {
    const NodeLayout& layout = layout_.of(node);
    return layout.network != nullptr ? layout.network : layout.intra;
  }
  Bandwidth wire(DeviceId device) const {
    const NodeId node = layout_.devices[device].node;
    const NodeType& type = layout_.types[layout_.nodes[node].type.value];
    const LinkTechnology& technology = *wire_technology(node);
    const auto wires = static_cast<double>(2 * sizes_.size());
    if (type.ports > 0) return technology.bandwidth * technology.efficiency * type.ports / type.devices / wires;
    const Bandwidth rate =
        technology.peer_bandwidth.value > 0 ? technology.peer_bandwidth : technology.bandwidth / wires;
    return rate * technology.efficiency;
  }
  LinkId link(std::uint32_t device, std::size_t dimension, bool forward) const {
    return LinkId(first_.value + (device * sizes_.size() + dimension) * 2 + (forward ? 0 : 1));
  }

  std::vector<int> sizes_;
  LinkId first_;
};

// Along dimension d a message runs at its destination's coordinates below d and its source's above d. So the
// messages that go from place s to place t of one line are (members with the line's upper coordinates at s) x
// (members with its lower coordinates at t): no need to visit pairs.
void Torus::append_all_to_all(std::span<const DeviceId> members, std::vector<LinkLoad>& loads) const {
  const bool all_here =
      std::all_of(layout_.node_layouts.begin(), layout_.node_layouts.end(),
                  [](const NodeLayout& node) { return node.meeting == Meeting::Fabric || node.devices == 1; });
  // Few members: their pairs are quicker than a walk over every line of the torus.
  if (!all_here || members.size() * members.size() < layout_.devices.size() / 8)
    return LayoutFabric::append_all_to_all(members, loads);
  const double share = 1 / static_cast<double>(members.size());
  std::size_t stride = 1;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    const auto size = static_cast<std::size_t>(sizes_[d]);
    const std::size_t uppers = layout_.devices.size() / (stride * size);
    std::vector<double> senders(size * uppers, 0.0), receivers(size * stride, 0.0);
    for (DeviceId member : members) {
      senders[member.value / stride] += 1;
      receivers[member.value % (stride * size)] += 1;
    }
    std::vector<double> forward(size + 1), backward(size + 1);
    for (std::size_t upper = 0; upper < uppers; ++upper) {
      for (std::size_t lower = 0; lower < stride; ++lower) {
        std::fill(forward.begin(), forward.end(), 0.0);
        std::fill(backward.begin(), backward.end(), 0.0);
        // Differences along the ring: a run of wires begins at one place and ends before another, maybe past
        // the seam.
        const auto run = [&](std::vector<double>& ring, std::size_t first, std::size_t length,
                             double messages) {
          ring[first] += messages;
          if (first + length <= size) {
            ring[first + length] -= messages;
          } else {
            ring[size] -= messages;
            ring[0] += messages;
            ring[first + length - size] -= messages;
          }
        };
        for (std::size_t s = 0; s < size; ++s) {
          const double from = senders[upper * size + s];
          if (from == 0) continue;
          for (std::size_t t = 0; t < size; ++t) {
            const double messages = from * receivers[t * stride + lower];
            const int steps = torus_steps(static_cast<int>(s), static_cast<int>(t), sizes_[d]);
            if (messages == 0 || steps == 0) continue;
            // Backwards from s the wires of s, s-1, … are used: the run that ends at s.
            const auto length = static_cast<std::size_t>(std::abs(steps));
            if (steps > 0) run(forward, s, length, messages);
            if (steps < 0) run(backward, (s + 1 + size - length) % size, length, messages);
          }
        }
        double plus = 0, minus = 0;
        for (std::size_t at = 0; at < size; ++at) {
          plus += forward[at];
          minus += backward[at];
          const auto device = static_cast<std::uint32_t>((upper * size + at) * stride + lower);
          if (plus > 0) loads.push_back({link(device, d, true), plus * share});
          if (minus > 0) loads.push_back({link(device, d, false), minus * share});
        }
      }
    }
    stride *= size;
  }
}

}  // namespace

std::unique_ptr<Fabric> make_torus(Layout& layout, Problems& problems) {
  const std::vector<int>& sizes = layout.spec.fabric.torus;
  const auto devices = static_cast<double>(layout.devices.size());
  double product = sizes.empty() || sizes.size() > 6 ? 0 : 1;
  for (int size : sizes) product *= size >= 1 ? size : 0;
  if (product != devices) {
    problems.add(Where{},
                 fmt::format("fabric: the torus {} holds {} devices, the cluster has {}", fmt::join(sizes, "x"),
                             product, devices),
                 "give one to six dimensions whose product is the number of devices");
    return nullptr;
  }
  for (std::size_t t = 0; t < layout.types.size(); ++t) {
    if (layout.node_layouts[t].network != nullptr || layout.node_layouts[t].intra != nullptr) continue;
    problems.add(Where{},
                 fmt::format("node type \"{}\" names no link for the wires of the torus", layout.types[t].id),
                 "give its network or intra_link");
    return nullptr;
  }
  return std::make_unique<Torus>(layout);
}

}  // namespace tandem
