// Time of a fused (flash) attention kernel on one device.
#pragma once
#include "core/cost/calibration.h"
#include "core/task/work.h"

namespace tandem {

struct AttentionDevice {
  ComputeRate peak;
  Bandwidth memory;
  double beta = 0;   // share of the memory bandwidth
  double share = 0;  // of the peak, in this direction and head size
  AttentionLaw law;
};

// Keys that a query meets on average, in the kernel's blocks: s_k for a full mask; (s_k + diagonal) / 2 for a
// causal one of equal lengths. Fewer queries than keys stand at the end of the keys; a window cuts the far keys
// off and has a second half-filled diagonal. Never more than s_k.
double effective_keys(const FusedAttention&, double diagonal_keys);

// max(4 B H s_q (s_eff + extra_keys) d x (1 or 2.5 backward) / (share * peak), bytes / (beta * memory)) +
// start, with d the mean of the query-key and value head sizes.
Seconds attention_time(const FusedAttention&, const AttentionDevice&);

}  // namespace tandem
