// Time of a matrix product on one device: tiles in waves over the compute units, against memory traffic.
#pragma once
#include "core/cost/calibration.h"
#include "core/task/work.h"

namespace tandem {

// A device as the tile law sees it. eta, beta: shares of peak and memory bandwidth that are reached.
struct GemmDevice {
  ComputeRate peak;
  Bandwidth memory;
  double units = 1;
  double eta = 0, beta = 0;
  Seconds start;
  double depth = 0;
  Bandwidth feed;  // 0: never limits
  double misaligned = 1;
};

// The minimum over tile shapes (tm, tn) and splits s of the inner dimension of
//   start + (compute^3 + traffic^3)^(1/3), with
//   compute = waves * (32 ceil(k / 32s) + depth) * max(2 tm tn / rate, (tm + tn) e / feed), rate = eta * peak /
//   units, waves = 0.7 ceil(r) + 0.3 max(r, 1), r = ceil(m / tm) ceil(n / tn) batch s / units, traffic =
//   operands and result once (and 8 bytes a value and split where s > 1) at beta * memory.
// Non-decreasing in m, n, k and batch; never less than bytes / memory or flops / peak.
// Formula and constants: fitted to 1,700 published kernel timings, see scenarios/calibrations/README.md.
struct GemmTime {
  Seconds time;
  int tile_m = 0, tile_n = 0, split = 1;
  bool bound_by_memory = false;
};
GemmTime gemm_time(const MatrixProduct&, const GemmDevice&);

// The same as one line: constants and result.
std::string text(const GemmTime&, const GemmDevice&);

}  // namespace tandem
