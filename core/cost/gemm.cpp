// Time of a matrix product on one device: tiles in waves over the compute units, against memory traffic.
#include "core/cost/gemm.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/units/text.h"

namespace tandem {
namespace {

struct Tile {
  int m, n;
};
// The tile shapes that cuBLAS-like libraries choose from, and the splits of the inner dimension.
constexpr Tile tiles[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64},
                          {64, 128},  {64, 64},   {256, 64},  {64, 256}};
constexpr int splits[] = {1, 2, 3, 4, 6, 8};

double ceil_divide(double a, double b) { return std::ceil(a / b); }

}  // namespace

GemmTime gemm_time(const MatrixProduct& product, const GemmDevice& device) {
  const auto m = static_cast<double>(product.m), n = static_cast<double>(product.n);
  const auto k = static_cast<double>(product.k), batch = static_cast<double>(product.batch);
  const double e = bytes_per_element(product.input);
  const double rate = device.eta * device.peak.value / device.units;
  const double feed = device.feed.value > 0 ? device.feed.value : std::numeric_limits<double>::infinity();
  const double operands = batch * ((m * k + n * k) * e + m * n * product.output_bytes);

  GemmTime best{.time = Seconds(std::numeric_limits<double>::infinity())};
  for (const Tile tile : tiles) {
    const double per_depth = std::max(2.0 * tile.m * tile.n / rate, (tile.m + tile.n) * e / feed);
    const double tile_count = ceil_divide(m, tile.m) * ceil_divide(n, tile.n) * batch;
    for (const int split : splits) {
      const double r = tile_count * split / device.units;
      const double waves = 0.7 * std::ceil(r) + 0.3 * std::max(r, 1.0);
      const double compute = waves * (32 * ceil_divide(k, 32.0 * split) + device.depth) * per_depth;
      const double partial_sums = split > 1 ? 8.0 * split * batch * m * n : 0.0;
      const double traffic = (operands + partial_sums) / (device.beta * device.memory.value);
      const double time = std::cbrt(compute * compute * compute + traffic * traffic * traffic);
      if (time < best.time.value) best = {Seconds(time), tile.m, tile.n, split, traffic > compute};
    }
  }
  if (product.input == DType::Fp16 && product.n % 8 != 0) best.time *= device.misaligned;
  best.time += device.start;
  return best;
}

std::string text(const GemmTime& t, const GemmDevice& d) {
  return fmt::format("{} x {} tiles, split {}, {}: eta {:.3g} of {}, beta {:.3g} of {}, start {}, {:g} units",
                     t.tile_m, t.tile_n, t.split, t.bound_by_memory ? "memory-bound" : "compute-bound", d.eta,
                     text(d.peak), d.beta, text(d.memory), text(d.start), d.units);
}

}  // namespace tandem
