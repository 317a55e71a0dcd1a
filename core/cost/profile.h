// Measured durations by kind and shape of work: as measured where the shape was, interpolated between shapes.
#pragma once
#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective/collective.h"
#include "core/cost/provenance.h"
#include "core/task/work.h"

namespace tandem {

enum class MeasuredWork : std::uint8_t { Product, Attention, Pass, Collective, Message };
std::string_view name(MeasuredWork);  // "product", …

// What all shapes of one table have in common; fields that say nothing about a work keep their values here.
struct MeasuredKind {
  MeasuredWork work = MeasuredWork::Pass;
  DType dtype = DType::Fp32;                              // products, attention
  Phase phase = Phase::Forward;                           // computations; Recompute counts as Forward
  bool grouped = false;                                   // products
  AttentionMask mask = AttentionMask::Full;               // attention
  PassKind pass = PassKind::Norm;                         // passes
  CollectiveKind collective = CollectiveKind::AllReduce;  // collectives
  Algorithm algorithm = Algorithm::Auto;                  // collectives
  int members = 0;                                        // collectives
  auto operator<=>(const MeasuredKind&) const = default;
};

//   product            m, n, k, batch
//   attention          batch x heads, queries, keys (at most the window), head size
//   pass               elements, nominal bytes
//   collective, message   bytes
using MeasuredShape = std::array<double, 4>;  // 1 where there is nothing to say

MeasuredKind kind_of(const Compute&);
MeasuredShape shape_of(const Compute&);
MeasuredKind kind_of(const Collective&, Algorithm, std::size_t members);
MeasuredShape shape_of(Bytes);  // of a collective or message

struct MeasuredTime {
  MeasuredShape shape{1, 1, 1, 1};
  Seconds time;
};

// One table of one device kind.
struct ProfileRow {
  std::string device;
  MeasuredKind kind;
  std::vector<MeasuredTime> times;
  Provenance from;
};

struct ProfileAnswer {
  Seconds time;
  bool exact = false;
  MeasuredTime nearest;
};
// Sizes alone (collectives, messages): a straight line between neighbours, both axes logarithmic; below the
// smallest its time, above the largest its rate. Other shapes: the time per amount of work (m n k batch; pairs
// of query and key times head size; bytes) of the four nearest, weighted by 1 / distance^2 in logarithms of the
// sizes (Shepard 1968). Not monotone: measurements are not. `times` is not empty.
ProfileAnswer look_up(const ProfileRow&, const MeasuredShape&);

std::string text(const MeasuredKind&);   // "product fp32 forward", "all_reduce ring over 2"
std::string text(const MeasuredShape&);  // "2048 x 768 x 768"
std::optional<MeasuredShape> parse_shape(std::string_view);

}  // namespace tandem
