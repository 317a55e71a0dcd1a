// A checked, immutable plan: every degree resolved, every layer in a chunk, every rank on a device.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/model_graph.h"
#include "core/model/model_spec.h"
#include "core/plan/mesh.h"
#include "core/plan/plan_spec.h"
#include "core/plan/schedule.h"

namespace tandem {

// The layers of one position of the pipeline, in model order, inclusive. The embedding layer is in position 0
// and the head in the last; both may share a position with blocks.
struct ChunkLayers {
  LayerId first, last;
};

struct Plan {
  PlanSpec spec;  // as typed, with defaults filled in
  Mesh mesh{MeshShape{}};
  Schedule schedule;
  std::vector<ChunkLayers> chunks;  // by position
  std::uint32_t microbatches = 1;   // a step and a data-parallel rank
  TokenShape tokens;                // of one microbatch, before context parallelism
  std::int64_t global_batch_size = 1;
  std::int64_t padded_vocabulary = 0;  // 0: the model has none
  std::int64_t bucket_elements = 0;
  std::vector<std::uint32_t> placement;  // device of each rank
  std::vector<std::string> remarks;  // what a careful user would want to know ("vocabulary padded from … to …")
};

// What the plan must know of the machine (core/plan does not see core/cluster).
struct MachineShape {
  std::int64_t devices = 1, devices_per_node = 8;
};

// Resolves and checks. All faults at once as InputError, worded as Megatron users expect:
// world = tp*cp*pp*dp; gbs % (mbs*dp) == 0; heads % tp; query groups against tp; layers % (pp*vpp) unless an
// explicit split; seq % (2*cp) for causal ring context parallelism; experts % ep; sp needs tp > 1; interleaved
// needs pp > 1 and microbatches % pp == 0; ZeRO >= 2 with pipelines as Megatron refuses or allows it; …
Plan resolve_plan(const PlanSpec&, const ModelSpec&, const ModelGraph&, const MachineShape&);

}  // namespace tandem
