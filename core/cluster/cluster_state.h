// What a Cluster points at: its layout and the fabric that routes on it.
#pragma once
#include "core/cluster/cluster.h"
#include "core/cluster/layout.h"

namespace tandem {

struct Cluster::State {
  Layout layout;
  std::unique_ptr<Fabric> fabric;  // refers to layout: a State never moves
};

}  // namespace tandem
