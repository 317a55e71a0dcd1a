// [cluster]: a preset or groups of nodes, then whatever the scenario says differently.
#include <fmt/format.h>

#include <set>

#include "core/cluster/catalog_tables.h"
#include "core/scenario/sections.h"

namespace tandem {
namespace {

std::string joined(const std::set<std::string>& ids) {
  std::string all;
  for (const std::string& id : ids) all += (all.empty() ? "" : ", ") + id;
  return all;
}

struct ClusterReader {
  const toml::table& table;
  TableReader& reader;
  const Library& library;
  ReadContext& context;
  ClusterSpec& spec;

  std::optional<ClusterSpec> from_text(const std::string& typed, const Where& where) {
    try {
      return cluster_from_text(library.catalog, typed, where);
    } catch (const InputError& error) {
      for (const Problem& problem : error.problems()) context.problems.add(problem);
      return std::nullopt;
    }
  }

  // One machine: "preset" or "node_type" names it, "nodes" counts. Gives "dgx-h100:2", or "" with problems
  // told.
  std::string entry(TableReader& fields) {
    std::string preset, node_type;
    int nodes = 0;
    fields.read("preset", preset);
    fields.read("node_type", node_type);
    fields.read("nodes", nodes, 1, most_devices);
    if (!preset.empty() && !node_type.empty()) {
      fields.complain("node_type", "preset and node_type are both given", "keep one of them");
      return "";
    }
    const std::string& id = preset.empty() ? node_type : preset;
    if (id.empty()) {
      if (!fields.has("preset") && !fields.has("node_type"))
        fields.complain("", "preset is missing",
                        "add preset = \"dgx-h100\"; tandem clusters lists the presets");
      return "";
    }
    if (id.find(':') != std::string::npos && nodes > 0) {
      fields.complain("nodes",
                      fmt::format("nodes = {} and the count in {} are both given", nodes, text(KeyValue{id})),
                      "keep one of them");
      return "";
    }
    const std::string typed = nodes > 0 ? fmt::format("{}:{}", id, nodes) : id;
    return from_text(typed, fields.where(preset.empty() ? "node_type" : "preset")) ? typed : "";
  }

  bool read_groups() {
    if (!reader.has("groups")) {
      const std::string typed = entry(reader);
      if (typed.empty()) return false;
      spec = *from_text(typed, reader.where("preset"));
      if (reader.has("node_type")) spec.fabric = FabricSpec{};
      return true;
    }
    for (const std::string_view key : {"preset", "node_type", "nodes"})
      if (reader.has(key))
        reader.complain(key, fmt::format("{} and groups are both given", key), "put it into a group");
    const toml::array* groups = reader.tables("groups");
    if (groups == nullptr) return false;
    std::string all;
    for (const toml::node& node : *groups) {
      TableReader group(*node.as_table(), context.file, "[[cluster.groups]]", context.problems);
      const std::string typed = entry(group);
      group.refuse_others();
      if (typed.empty()) return false;
      all += (all.empty() ? "" : "+") + typed;
    }
    const auto whole = from_text(all, reader.where("groups"));
    if (whole) spec = *whole;
    return whole.has_value();
  }

  // [cluster.device] speaks of the only device there is, [cluster.device.ID] of one of several. `inner` names
  // the sub-tables that are fields, not ids.
  template <class Each>
  void by_id(std::string_view key, const std::set<std::string>& ids, const std::set<std::string>& inner,
             Each each) {
    const toml::table* overrides = reader.table(key);
    if (overrides == nullptr) return;
    bool fields = false, entries = false;
    for (const auto& [name, node] : *overrides) {
      const bool is_entry = node.is_table() && !inner.contains(std::string(name.str()));
      (is_entry ? entries : fields) = true;
    }
    if (fields && (entries || ids.size() > 1)) {
      reader.complain(key, fmt::format("it is not said which {} is meant", key),
                      fmt::format("write [cluster.{}.ID]; the cluster has {}", key, joined(ids)));
      return;
    }
    if (fields) {
      each(*overrides, *ids.begin());
      return;
    }
    TableReader own(*overrides, context.file, fmt::format("[cluster.{}]", key), context.problems);
    for (const auto& [name, node] : *overrides) {
      const std::string id(name.str());
      if (ids.contains(id)) {
        each(*node.as_table(), id);
        continue;
      }
      const std::string near = id.size() <= 200 ? nearest_name(id, {ids.begin(), ids.end()}) : "";
      own.complain(id, fmt::format("the cluster has no {} {}", key, shown_key(id)),
                   near.empty() ? "it has " + joined(ids) : fmt::format("did you mean {}?", near));
    }
  }

  void override_nodes() {
    std::set<std::string> ids;
    for (const NodeGroupSpec& group : spec.groups) ids.insert(group.type.id);
    by_id("node", ids, {}, [&](const toml::table& fields, const std::string& id) {
      NodeType changed;
      for (const NodeGroupSpec& group : spec.groups)
        if (group.type.id == id) changed = group.type;
      const std::string device = changed.device;
      read_node_type(fields, context.file, changed, context.problems);
      const auto kind = library.catalog.devices.find(changed.device);
      if (changed.device != device && kind == library.catalog.devices.end()) {
        std::vector<std::string> known;
        for (const auto& [name, each] : library.catalog.devices) known.push_back(name);
        const std::string near = nearest_name(changed.device, known);
        reader.complain(
            "node", fmt::format("device = {} is not known", text(KeyValue{changed.device})),
            near.empty() ? "tandem clusters lists the devices" : fmt::format("did you mean {}?", near));
        return;
      }
      for (NodeGroupSpec& group : spec.groups) {
        if (group.type.id != id) continue;
        group.type = changed;
        if (changed.device != device) group.device = kind->second;
      }
    });
  }

  void override_devices() {
    std::map<std::string, DeviceKind> devices;
    std::set<std::string> ids;
    for (const NodeGroupSpec& group : spec.groups)
      ids.insert(group.device.id), devices[group.device.id] = group.device;
    by_id("device", ids, {"peak", "price"}, [&](const toml::table& fields, const std::string& id) {
      read_device(fields, context.file, devices[id], context.problems);
    });
    for (NodeGroupSpec& group : spec.groups) group.device = devices[group.device.id];
  }

  LinkTechnology* technology(const std::string& id) {
    for (LinkTechnology& link : spec.technologies)
      if (link.id == id) return &link;
    return nullptr;
  }

  // Links that overridden nodes name: from the catalog, or described by the scenario itself.
  void gather_links() {
    const toml::table* described = table["link"].as_table();
    for (const NodeGroupSpec& group : spec.groups) {
      for (const std::string& id : {group.type.intra_link, group.type.network, group.type.host_link}) {
        if (id.empty() || technology(id) != nullptr) continue;
        if (const auto known = library.catalog.links.find(id); known != library.catalog.links.end()) {
          spec.technologies.push_back(known->second);
        } else if (described != nullptr && described->contains(id)) {
          spec.technologies.emplace_back();
          spec.technologies.back().id = spec.technologies.back().name = id;
        }
      }
    }
  }

  void override_links() {
    std::set<std::string> ids;
    for (const LinkTechnology& link : spec.technologies) ids.insert(link.id);
    by_id("link", ids, {}, [&](const toml::table& fields, const std::string& id) {
      read_link(fields, context.file, *technology(id), context.problems);
    });
  }

  void slow_devices() {
    if (!reader.has("slow_devices")) return;
    const toml::array* list = reader.tables("slow_devices");
    if (list == nullptr) return;
    for (const toml::node& node : *list) {
      TableReader fields(*node.as_table(), context.file, "[[cluster.slow_devices]]", context.problems);
      int device = -1;
      double factor = 0;
      fields.read("device", device, 0, most_devices - 1);
      fields.read("factor", factor, 1, 1000);
      for (const std::string_view key : {"device", "factor"})
        if (!fields.has(key))
          fields.complain("", fmt::format("{} is missing", key), "as in { device = 3, factor = 1.2 }");
      fields.refuse_others();
      if (device >= 0 && factor > 0) spec.slow_devices.push_back({static_cast<std::uint32_t>(device), factor});
    }
  }
};

}  // namespace

void read_cluster_section(const toml::table& root, Scenario& scenario, const Library& library,
                          ReadContext& context) {
  const toml::table* table = section_table(root, "cluster", context);
  if (table == nullptr) {
    if (!root.contains("cluster"))
      context.problems.add({.file = context.file}, "no cluster is given",
                           "add [cluster] with preset = \"dgx-h100\" and nodes = 2, or --cluster dgx-h100:2; "
                           "tandem clusters lists the presets");
    return;
  }
  TableReader reader(*table, context.file, "[cluster]", context.problems);
  ClusterReader cluster{*table, reader, library, context, scenario.cluster};
  scenario.cluster_where = context.where("cluster", root.find("cluster")->first);
  std::string given_name;
  reader.read("name", given_name);
  if (!cluster.read_groups()) return;
  if (!given_name.empty()) scenario.cluster.name = given_name;
  cluster.override_nodes();
  cluster.gather_links();
  cluster.override_devices();
  cluster.override_links();
  if (const toml::table* fabric = reader.table("fabric"))
    read_fabric(*fabric, context.file, scenario.cluster.fabric, context.problems);
  cluster.slow_devices();
  reader.refuse_others();
}

}  // namespace tandem
