// One switch that every port reaches at full rate: nothing but the ports can bind.
#include "core/cluster/layout.h"

namespace tandem {
namespace {

class SingleSwitch final : public LayoutFabric {
 public:
  using LayoutFabric::LayoutFabric;
  void append_route(DeviceId, DeviceId, std::vector<LinkId>&) const override {}
  int hops(DeviceId, DeviceId) const override { return 1; }
  std::string link_name(LinkId) const override { return "switch"; }
  void append_all_to_all(std::span<const DeviceId>, std::vector<LinkLoad>&) const override {}
};

}  // namespace

std::unique_ptr<Fabric> make_single_switch(Layout& layout, Problems&) {
  return std::make_unique<SingleSwitch>(layout);
}

}  // namespace tandem
