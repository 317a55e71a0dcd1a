// Bytes that a collective puts on each link, per byte of its size.
#pragma once
#include <span>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/collective/collective.h"

namespace tandem {

// Links that can bind, each once, in order of their ids. Linear in members for rings, trees, NVLS and
// hierarchical collectives; n log n for halving-doubling; an all-to-all as Cluster::all_to_all_loads.
//   ring   f inside a node; over several nodes, hops between nodes are spread over the g local members: a
//   member's port
//          carries f / g each way, its wires inside f (g - 1) / g
//   tree   double binary tree over nodes, half of the size each, spread over the members of a node; chains
//   inside NVLS   the switch adds: each device sends and receives the size once; between nodes as the tree
std::vector<LinkLoad> collective_loads(const Cluster&, CollectiveKind, Algorithm chosen,
                                       std::span<const DeviceId> members);

// 1 on each link of the way.
std::vector<LinkLoad> message_loads(const Cluster&, DeviceId from, DeviceId to);

// Seconds a byte of the size that the busiest link needs: max of share / capacity; 0 without links.
double busiest_link(const Cluster&, std::span<const LinkLoad>);

}  // namespace tandem
