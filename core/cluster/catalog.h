// The catalog of accelerators, links, node types and fabrics that ships in scenarios/clusters.
#pragma once
#include <map>
#include <string>

#include "core/cluster/cluster.h"
#include "core/problem/problem.h"

namespace tandem {

// A ready machine: "dgx-h100", with the fabric it usually comes with.
struct ClusterPreset {
  std::string id, name, node_type;
  FabricSpec fabric;
  int default_nodes = 1;
  std::string source;
};

struct Catalog {
  std::map<std::string, DeviceKind> devices;
  std::map<std::string, LinkTechnology> links;
  std::map<std::string, NodeType> node_types;
  std::map<std::string, ClusterPreset> presets;
};

// Reads devices.toml, links.toml, nodes.toml, clusters.toml from `folder` (scenarios/clusters). Every fault is
// reported at once, with file and line. The scenario lays the same tables over presets with catalog_tables.h.
Catalog read_catalog(const std::string& folder);

// "dgx-h100:16" is 16 nodes (not devices) of a preset or node type (the latter behind one switch); "dgx-h100"
// its default number. A device's id counts devices instead: "h100-sxm5-80gb:64" is 64 of them, in nodes of the
// first preset (by id: dgx before hgx and clouds) that has them; a number that does not fill its nodes is
// refused. Several groups are joined by "+" ("dgx-a100:2+dgx-h100:2"), with the fabric of the first. A preset's
// torus keeps its number of dimensions and takes the most equal sizes that the devices allow. Throws InputError
// with the nearest name as hint.
ClusterSpec cluster_from_text(const Catalog&, const std::string& text, const Where& where);

}  // namespace tandem
