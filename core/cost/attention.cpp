// Time of a fused (flash) attention kernel on one device.
#include "core/cost/attention.h"

#include <algorithm>

namespace tandem {
namespace {

// Integral of min(p, window) from 0 to p.
double seen_up_to(double p, double window) {
  if (p <= 0) return 0;
  return p <= window ? p * p / 2 : window * window / 2 + (p - window) * window;
}

}  // namespace

double effective_keys(const FusedAttention& work, double diagonal_keys) {
  const auto queries = static_cast<double>(work.q_length), keys = static_cast<double>(work.kv_length);
  if (work.mask == AttentionMask::Full) {
    // A window around each query: half of it on each side.
    const auto window = static_cast<double>(work.window);
    return window > 0 ? std::min(keys, window + diagonal_keys) : keys;
  }
  if (queries <= 0) return 0;
  const bool cut = work.window > 0 && work.window < work.kv_length;
  const double window = cut ? static_cast<double>(work.window) : keys;
  const double met = (seen_up_to(keys, window) - seen_up_to(keys - queries, window)) / queries;
  return std::min(keys, met + (cut ? 2 : 1) * diagonal_keys / 2);
}

Seconds attention_time(const FusedAttention& work, const AttentionDevice& device) {
  const auto batch = static_cast<double>(work.batch), heads = static_cast<double>(work.heads);
  const auto queries = static_cast<double>(work.q_length), keys = static_cast<double>(work.kv_length);
  const auto qk = static_cast<double>(work.qk_head_dim), v = static_cast<double>(work.v_head_dim);
  const double products = work.backward ? 2.5 : 1.0;
  const double met = effective_keys(work, device.law.diagonal_keys) + device.law.extra_keys;
  const double flops = 2 * batch * heads * queries * met * (qk + v) * products;
  // Forward reads q, k, v and writes the output; backward reads those and the output's gradient, writes three
  // gradients.
  const double kv_bytes = batch * static_cast<double>(work.kv_heads) * keys * (qk + v);
  const double q_bytes = batch * heads * queries * (qk + v);
  const double bytes = (kv_bytes + q_bytes) * bytes_per_element(work.dtype) * (work.backward ? 2 : 1);
  return std::max(Flops(flops) / (device.peak * device.share), Bytes(bytes) / (device.memory * device.beta)) +
         device.law.start;
}

}  // namespace tandem
