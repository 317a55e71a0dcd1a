// A plan while resolve_plan works on it: the specification being completed, what is derived so far, and the
// problems. Internal to core/plan.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_graph.h"
#include "core/model/model_spec.h"
#include "core/plan/plan.h"
#include "core/plan/plan_spec.h"
#include "core/problem/problem.h"

namespace tandem {

// Keys with a problem are `broken`; checks that would read them are left out, so that one mistake is reported
// once.
struct PlanDraft {
  PlanSpec spec;
  const ModelSpec& model;
  const ModelGraph& graph;
  MachineShape machine;
  Problems problems = {};
  std::set<std::string, std::less<>> broken = {};
  std::vector<std::string> remarks = {};

  // Each is valid once the keys it comes from are not broken.
  MeshShape mesh = {};
  std::int64_t world = 0, microbatches = 0, positions = 0, padded_vocabulary = 0;
  TokenShape tokens = {};
  std::vector<std::int64_t> blocks_a_position = {};
  std::vector<std::uint32_t> placement = {};

  void refuse(const std::string& key, std::string what, std::string hint = {});
  void remark(std::string sentence) { remarks.push_back(std::move(sentence)); }
  bool usable(std::initializer_list<std::string_view> keys) const;
  bool typed(const std::string& key) const { return spec.where.contains(key); }
};

// The passes of resolve_plan, in this order. Each adds problems or completes the draft.
void check_ranges(PlanDraft&);        // every number on its own
void resolve_schedule(PlanDraft&);    // schedule, chunks a stage
void resolve_degrees(PlanDraft&);     // data and expert degrees, ranks against devices
void check_tensor_split(PlanDraft&);  // heads, widths, experts, vocabulary
void resolve_layers(PlanDraft&);      // blocks a position
void resolve_batch(PlanDraft&);       // microbatches, and whether the schedule takes them
void resolve_sequences(PlanDraft&);   // sequence lengths against cp and sp
void resolve_sharding(PlanDraft&);    // ZeRO, shard groups, buckets, overlaps
void check_recompute(PlanDraft&);     // recompute and what is kept
void resolve_placement(PlanDraft&);   // mesh order, device of each rank

// Shared by them.
// INT64_MAX where the product of non-negative factors is larger.
std::int64_t bounded_product(std::initializer_list<std::int64_t> factors);
std::vector<std::int64_t> divisors(std::int64_t positive);
// "use 1, 2, 4, 8": at most ten of the values, those around `typed`; "" when there are none.
std::string use_one_of(const std::vector<std::int64_t>& values, std::int64_t typed);
// "use 96 or 128": the nearest multiples of `step` from `least` on.
std::string use_multiple(std::int64_t step, std::int64_t typed, std::int64_t least = 1);

}  // namespace tandem
