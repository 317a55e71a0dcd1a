// Where each learned parameter of a stage lies: flat buckets in the order in which gradients are finished, cut
// evenly among the ranks that share them (ZeRO).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/lower/chunk_layout.h"

namespace tandem {

// One parameter's part on this rank. Offsets and counts are elements, from the start of its bucket.
struct ParameterPlace {
  OperatorId op;
  std::uint32_t parameter = 0;  // in Operator::parameters; 0 for the copy that a tied head keeps
  std::int64_t offset = 0, count = 0;
  bool replicated = false;  // a whole copy on each tensor-parallel rank
};

struct BucketLayout {
  std::uint32_t position = 0, number = 0;  // as in Subject
  std::uint16_t chunk = 0;                 // the stage's own chunk
  bool expert = false;
  std::int64_t elements = 0;     // filled up to a multiple of 16 for each of its shards
  std::uint32_t shards = 1;      // ranks that each own an equal part of the optimizer state; 1 without ZeRO
  bool reduced_at_once = false;  // ZeRO-2 and 3: gradients live in a buffer a microbatch until they are reduced
  bool gathered_for_use = false;  // ZeRO-3: weights are gathered before each use
  std::vector<ParameterPlace> places;

  std::int64_t own_elements() const { return elements / shards; }
};

struct ParameterLayout {
  std::vector<BucketLayout> buckets;  // by own chunk, then number

  struct Found {
    std::uint32_t bucket = 0, place = 0;
  };
  // Where `op` reads its parameter; one that shares another's finds that if the stage holds it.
  std::optional<Found> find(const ModelGraph&, OperatorId op, std::uint32_t parameter = 0) const;
  std::uint32_t bucket(std::uint32_t position, std::uint32_t number) const;  // index into buckets
};

// Elements of one parameter on one rank.
std::int64_t local_count(const ModelGraph&, const Shard&, OperatorId op, std::uint32_t parameter);
// The operator whose table a tied operator reads.
OperatorId table_owner(const ModelGraph&);
// The attention that owns the relative position biases which this attention reads; nothing without such biases.
std::optional<OperatorId> bias_owner(const ModelGraph&, OperatorId);
// How many parameters an operator works with, its own or another's.
std::uint32_t parameters_read(const ModelGraph&, OperatorId);

ParameterLayout parameter_layout(const ModelGraph&, const Plan&, const Shard&, const std::vector<ChunkLayout>&,
                                 std::uint32_t stage);

}  // namespace tandem
