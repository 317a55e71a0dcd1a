// Reads scenarios/clusters and resolves texts like "dgx-h100:16" against it.
#include "core/cluster/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/cluster/catalog_tables.h"

namespace tandem {
namespace {

// Where each entry's table begins.
using Places = std::map<std::string, Where>;

// One file of named tables, each read into an entry of `entries`.
template <class Entry, class Read>
Places read_entries(const std::string& path, std::map<std::string, Entry>& entries, Read read,
                    Problems& problems) {
  Places places;
  try {
    const toml::table file = parse_toml(read_text_file(path), path);
    for (const auto& [key, node] : file) {
      const std::string id(key.str());
      if (const toml::table* table = node.as_table()) {
        Entry entry{};
        entry.id = id;
        read(*table, path, entry, problems);
        entries.emplace(id, std::move(entry));
        places[id] = where_of(node, path);
      } else {
        problems.add(where_of(node, path), fmt::format("\"{}\" is not a table", id),
                     fmt::format("write [{}]", id));
      }
    }
  } catch (const InputError& error) {
    for (const Problem& problem : error.problems()) problems.add(problem);
  }
  return places;
}

template <class Entry>
std::vector<std::string> ids(const std::map<std::string, Entry>& entries) {
  std::vector<std::string> result;
  for (const auto& [id, entry] : entries) result.push_back(id);
  return result;
}

std::string did_you_mean(const std::string& typed, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(typed, known);
  return nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest);
}

// References between the files, reported where the referring entry begins.
struct ReferenceChecker {
  const Places& places;
  Problems& problems;

  template <class Entry>
  void refers(const std::string& owner, std::string_view key, const std::string& id,
              const std::map<std::string, Entry>& known, bool required) {
    if (known.contains(id) || (id.empty() && !required)) return;
    if (id.empty()) return problems.add(places.at(owner), fmt::format("\"{}\" names no {}", owner, key));
    problems.add(places.at(owner), fmt::format("\"{}\": {} = \"{}\" is not known", owner, key, id),
                 did_you_mean(id, ids(known)));
  }
};

// What one part of the text asks for.
struct Part {
  const NodeType* type = nullptr;
  FabricSpec fabric;
  int nodes = 0;
  int devices = 0;  // of a node; 0: as its type says
};

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count < 1) return std::nullopt;
  return count;
}

// The first preset, by id, whose nodes have the device.
const ClusterPreset* preset_with(const Catalog& catalog, const std::string& device) {
  for (const auto& [id, preset] : catalog.presets) {
    if (catalog.node_types.at(preset.node_type).device == device) return &preset;
  }
  return nullptr;
}

std::optional<Part> parse_part(const Catalog& catalog, const std::string& text, const Where& where,
                               Problems& problems) {
  const std::size_t colon = text.find(':');
  const std::string id = text.substr(0, colon);
  std::optional<std::int64_t> count;
  if (colon != std::string::npos) {
    count = parse_count(std::string_view(text).substr(colon + 1));
    if (!count || *count > most_devices) {
      problems.add(where,
                   fmt::format("cluster \"{}\": \"{}\" is not a number of nodes between 1 and {}", text,
                               text.substr(colon + 1), most_devices),
                   "write dgx-h100:16 for 16 nodes");
      return std::nullopt;
    }
  }
  Part part;
  if (const auto preset = catalog.presets.find(id); preset != catalog.presets.end()) {
    part.type = &catalog.node_types.at(preset->second.node_type);
    part.fabric = preset->second.fabric;
    part.nodes = static_cast<int>(count.value_or(preset->second.default_nodes));
    return part;
  }
  if (const auto type = catalog.node_types.find(id); type != catalog.node_types.end()) {
    part.type = &type->second;
    part.nodes = static_cast<int>(count.value_or(1));
    return part;
  }
  if (!catalog.devices.contains(id)) {
    std::vector<std::string> known = ids(catalog.presets);
    for (const std::string& more : ids(catalog.node_types)) known.push_back(more);
    for (const std::string& more : ids(catalog.devices)) known.push_back(more);
    const std::string hint = did_you_mean(id, known);
    problems.add(where, fmt::format("cluster \"{}\" is not known", id),
                 hint.empty() ? "tandem clusters lists what there is" : hint);
    return std::nullopt;
  }
  const ClusterPreset* preset = preset_with(catalog, id);
  if (preset == nullptr) {
    problems.add(where, fmt::format("no cluster preset has the device \"{}\"", id),
                 "describe a node with it in the scenario");
    return std::nullopt;
  }
  part.type = &catalog.node_types.at(preset->node_type);
  part.fabric = preset->fabric;
  const std::int64_t devices = count.value_or(part.type->devices);
  if (part.type->any_size) {
    part.nodes = 1;
    part.devices = static_cast<int>(devices);
    return part;
  }
  if (devices % part.type->devices != 0) {
    problems.add(where,
                 fmt::format("{} devices \"{}\" do not fill nodes of {} (\"{}\")", devices, id,
                             part.type->devices, part.type->id),
                 fmt::format("ask for a multiple of {}", part.type->devices));
    return std::nullopt;
  }
  part.nodes = static_cast<int>(devices / part.type->devices);
  return part;
}

// Factors of n, as equal as can be, ascending: 32 in 3 dimensions is 2 x 4 x 4.
std::vector<int> torus_shape(std::int64_t n, std::size_t dimensions) {
  std::vector<int> shape;
  for (std::size_t left = dimensions; left > 1; --left) {
    auto factor = static_cast<std::int64_t>(
        std::floor(std::pow(static_cast<double>(n), 1.0 / static_cast<double>(left)) + 1e-9));
    while (factor > 1 && n % factor != 0) --factor;
    shape.push_back(static_cast<int>(std::max<std::int64_t>(factor, 1)));
    n /= shape.back();
  }
  shape.push_back(static_cast<int>(n));
  std::sort(shape.begin(), shape.end());
  return shape;
}

void add_technology(const Catalog& catalog, const std::string& id, ClusterSpec& spec) {
  const auto known = [&](const LinkTechnology& technology) { return technology.id == id; };
  if (id.empty() || std::any_of(spec.technologies.begin(), spec.technologies.end(), known)) return;
  spec.technologies.push_back(catalog.links.at(id));
}

}  // namespace

Catalog read_catalog(const std::string& folder) {
  Problems problems;
  Catalog catalog;
  const Places devices = read_entries(folder + "/devices.toml", catalog.devices, read_device, problems);
  read_entries(folder + "/links.toml", catalog.links, read_link, problems);
  const Places nodes = read_entries(folder + "/nodes.toml", catalog.node_types, read_node_type, problems);
  const Places presets = read_entries(folder + "/clusters.toml", catalog.presets, read_preset, problems);
  problems.throw_if_any();

  for (const auto& [id, device] : catalog.devices) {
    ReferenceChecker{devices, problems}.refers(id, "link", device.link, catalog.links, false);
  }
  for (const auto& [id, node] : catalog.node_types) {
    ReferenceChecker checker{nodes, problems};
    checker.refers(id, "device", node.device, catalog.devices, true);
    checker.refers(id, "intra_link", node.intra_link, catalog.links, false);
    checker.refers(id, "network", node.network, catalog.links, node.ports > 0);
    checker.refers(id, "host_link", node.host_link, catalog.links, false);
  }
  for (const auto& [id, preset] : catalog.presets) {
    ReferenceChecker{presets, problems}.refers(id, "node_type", preset.node_type, catalog.node_types, true);
  }
  problems.throw_if_any();
  return catalog;
}

ClusterSpec cluster_from_text(const Catalog& catalog, const std::string& text, const Where& where) {
  Problems problems;
  ClusterSpec spec;
  spec.name = text;
  std::int64_t devices = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    if (const auto part = parse_part(catalog, text.substr(begin, end - begin), where, problems)) {
      if (spec.groups.empty()) spec.fabric = part->fabric;
      spec.groups.push_back(
          {.type = *part->type, .device = catalog.devices.at(part->type->device), .count = part->nodes});
      NodeType& type = spec.groups.back().type;
      if (part->devices > 0) type.devices = part->devices;
      for (const std::string& id : {part->type->intra_link, part->type->network, part->type->host_link}) {
        add_technology(catalog, id, spec);
      }
      devices += static_cast<std::int64_t>(part->nodes) * type.devices;
    }
    begin = end + 1;
  }
  if (devices > most_devices) {
    problems.add(where,
                 fmt::format("cluster \"{}\" has {} devices, more than {}", text, devices, most_devices));
  }
  problems.throw_if_any();
  if (spec.fabric.kind == FabricKind::Torus) spec.fabric.torus = torus_shape(devices, spec.fabric.torus.size());
  return spec;
}

}  // namespace tandem
