// Folding by symmetry: the coarsest classes of ranks, channels and links that cannot behave differently.
#pragma once
#include "core/estimate/play_graph.h"

namespace tandem {

// What keeps ranks apart from the start, beside program, device and slow-down.
enum class FoldStart : std::uint8_t {
  Alike,         // nothing
  TensorGroups,  // ranks of different tensor-parallel groups: only tensor peers fold
};

// Colour refinement (1-WL, Weisfeiler and Leman 1968) over who meets whom and whose bytes cross which link, to
// the coarsest equitable partition: all ranks of a class belong to channels of the same classes, all links of a
// class carry equally many equal parts of each channel class, and so on. Max-min shares and the order of events
// depend on nothing else. Time: a few passes over the traffic. Colours are 64-bit hashes, so two different
// things are taken for equal with odds of about (things)^2 / 2^65.
Classes fold(const TaskGraph&, const CostSource&, const Traffic&, FoldStart);

}  // namespace tandem
