// A scenario: what is trained, on which machine, under which plan, and how it shall be predicted. Read from
// TOML.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/catalog.h"
#include "core/model/model_spec.h"
#include "core/plan/plan_spec.h"
#include "core/problem/problem.h"

namespace tandem {

// How faithfully a step is played, by the names of core/estimate/playback.h (which this folder does not see).
enum class PlayLevel : std::uint8_t { Estimate, Fused, Folded, Replicas, Full };
std::string_view name(PlayLevel);

struct SimulationSpec {
  PlayLevel fidelity = PlayLevel::Folded;
  std::uint64_t seed = 0;
  // Relative standard deviation of each computation's duration; unsaid: what was measured of cores, else 0.
  std::optional<double> jitter;
};

// Other ways to split layers over stages, resolved into the plan once the model is known.
struct PipelineShorthand {
  std::int64_t layers_per_virtual_stage = 0, first_stage_layers = 0, last_stage_layers = 0;
  std::string layout;
};

struct Scenario {
  std::string path;        // "": from the command line alone
  std::string name;        // file name without its ending, or the model's and the cluster's
  std::string model_text;  // the whole config.json, overrides applied: a record explains itself with it
  ModelSpec model;
  ClusterSpec cluster;
  Where cluster_where;  // of [cluster]: what building it complains about is said there
  PlanSpec plan;
  PipelineShorthand shorthand;
  std::string framework = "megatron";  // named profile of host time and fusion (core/cost)
  std::string calibration;             // folder; "": the shipped one
  std::optional<double> tokens_total;  // of the whole training run, for its time and cost
  SimulationSpec simulation;
  std::vector<std::string> remarks;  // what was read and has no effect, one sentence each
};

// A key of the file with a new value, from --set or a flag. `key` is a name or alias of the key table ("tp") or
// a dotted path ("cluster.fabric.oversubscription"); `value` is text as TOML would have it, quotes optional.
struct Override {
  std::string key, value;
  Where where;  // {}: the command line
};

// The folder of models/, clusters/, calibrations/ and shipped scenarios, and the catalog read from it.
struct Library {
  std::string folder;
  Catalog catalog;
};
Library read_library(const std::string& folder);

// Reads `path` ("": no file, the overrides say everything). Every fault of the file and of the overrides is
// reported at once as InputError with file, line and column. The plan is not resolved here: resolve_plan
// reports what does not divide.
Scenario read_scenario(const std::string& path, const std::vector<Override>& overrides, const Library& library);
// The same from text; `path` is used in messages and as the place that relative paths start from.
Scenario parse_scenario(const std::string& toml_text, const std::string& path,
                        const std::vector<Override>& overrides, const Library& library);

// A file named `typed`, or the shipped scenario of that id; "" when there is neither.
std::string find_scenario(const std::string& typed, const Library& library);

// The resolved scenario as canonical TOML: every key, units exact, nothing of the machine it was read on.
// Reading it gives the same scenario again; records carry it, and its digest.
std::string to_toml(const Scenario&);

}  // namespace tandem
