// The tables of the catalog's files, laid over existing values: the catalog reads them over empty ones, a
// scenario over a preset's, so that everything a preset says can be overridden with the same keys.
#pragma once
#include "core/cluster/catalog.h"
#include "core/cluster/table_reader.h"

namespace tandem {

// Each reads every key of the table, leaves what is not given, and refuses unknown keys.
void read_device(const toml::table&, const std::string& file, DeviceKind& into, Problems&);
void read_link(const toml::table&, const std::string& file, LinkTechnology& into, Problems&);
void read_node_type(const toml::table&, const std::string& file, NodeType& into, Problems&);
// Another kind than the present one starts from that kind's defaults; keys that the kind does not use are
// refused.
void read_fabric(const toml::table&, const std::string& file, FabricSpec& into, Problems&);
void read_preset(const toml::table&, const std::string& file, ClusterPreset& into, Problems&);

}  // namespace tandem
