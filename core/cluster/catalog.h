// The catalog of accelerators, links, node types and fabrics that ships in scenarios/clusters.
#pragma once
#include <map>
#include <string>

#include "core/cluster/cluster.h"
#include "core/problem/problem.h"

namespace tandem {

// A ready machine: "dgx-h100", with the fabric it usually comes with.
struct ClusterPreset { std::string id, name, node_type; FabricSpec fabric; int default_nodes = 1; std::string source; };

struct Catalog {
  std::map<std::string, DeviceKind> devices;
  std::map<std::string, LinkTechnology> links;
  std::map<std::string, NodeType> node_types;
  std::map<std::string, ClusterPreset> presets;
};

// Reads devices.toml, links.toml, nodes.toml, clusters.toml from `folder` (scenarios/clusters).
Catalog read_catalog(const std::string& folder);

// "dgx-h100:16" is 16 nodes (not devices) of a preset or node type; "dgx-h100" its default. Several groups: joined by "+"
// ("dgx-a100:2+dgx-h100:2"). Throws InputError with the nearest preset as hint.
ClusterSpec cluster_from_text(const Catalog&, const std::string& text, const Where& where);

}  // namespace tandem
