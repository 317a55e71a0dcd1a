// A shard as runs of consecutive elements, and single elements between local and whole coordinates.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "exec/training/parameter_shard.h"

namespace tandem {

// Elements that follow one another both in the shard and in the whole parameter (flat indices, row-major).
struct ParameterRun {
  std::int64_t local = 0, whole = 0, length = 0;
  bool padding = false;  // beyond the vocabulary: `whole` means nothing
  bool operator==(const ParameterRun&) const = default;
};

// Runs of the local elements [begin, end), ascending in local and in whole index.
std::vector<ParameterRun> parameter_runs(const ParameterShard&, std::int64_t begin, std::int64_t end);
std::vector<ParameterRun> parameter_runs(const ParameterShard&);

struct ParameterIndex {
  std::int64_t expert = 0, row = 0, column = 0;
  bool operator==(const ParameterIndex&) const = default;
};
// In the whole parameter (rows of vocabulary padding lie beyond it), and back: nothing when it lies elsewhere.
ParameterIndex whole_index(const ParameterShard&, std::int64_t local);
std::optional<std::int64_t> local_index(const ParameterShard&, const ParameterIndex&);

}  // namespace tandem
