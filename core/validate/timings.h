// Holds costs of single kernels and collectives against tables of timings.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/validate/validate.h"

namespace tandem {

struct TimingReport {
  std::vector<SetReport> sets;  // a source and a kernel, a source and a range of sizes
  SetReport all;
};

// Columns source, gpu, kernel, dtype, m, n, k, batch, heads, kv_heads, seq, head_dim, causal, tflops, time_us,
// notes. Kernels are timed cool and alone, so the clock is that of short benchmarks.
TimingReport validate_kernels(const CsvTable&, const Catalog&, const Calibration&);

// Columns source, gpu, nodes, gpus_per_node, net, collective, bytes, time_us, notes; bytes as nccl-tests counts
// them. What a way of timing adds to the wire is known by source: kernels alone, nccl-tests, loops in Python.
TimingReport validate_collectives(const CsvTable&, const Catalog&, const Calibration&);

std::string timing_text(const TimingReport&, const std::string& what);
std::string timing_json(const TimingReport&);

}  // namespace tandem
