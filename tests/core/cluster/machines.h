// Small machines for tests, and routes as text.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/cluster/catalog.h"
#include "core/cluster/cluster.h"

namespace tandem {

inline const Catalog& shipped_catalog() {
  static const Catalog catalog = read_catalog(TANDEM_SOURCE_DIR "/scenarios/clusters");
  return catalog;
}

inline Cluster cluster_of(const std::string& text) {
  return build_cluster(cluster_from_text(shipped_catalog(), text, Where{}));
}

inline ClusterSpec spec_of(const std::string& text, FabricSpec fabric) {
  ClusterSpec spec = cluster_from_text(shipped_catalog(), text, Where{});
  spec.fabric = std::move(fabric);
  return spec;
}

inline FabricSpec fabric_of(FabricKind kind) {
  FabricSpec fabric;
  fabric.kind = kind;
  return fabric;
}

// "node0.port3.up node5.port3.down"
inline std::string route(const Cluster& cluster, std::size_t from, std::size_t to) {
  std::vector<LinkId> links;
  cluster.append_route(DeviceId(from), DeviceId(to), links);
  std::string text;
  for (LinkId link : links) text += (text.empty() ? "" : " ") + cluster.link_name(link);
  return text;
}

// "node4.gpu3": device 3 of node 4, where nodes have 8.
inline std::size_t device(std::size_t node, std::size_t local, std::size_t per_node = 8) {
  return node * per_node + local;
}

// What an InputError says, all problems in one text; "" when nothing is thrown.
template <class Call>
std::string problems_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace tandem
