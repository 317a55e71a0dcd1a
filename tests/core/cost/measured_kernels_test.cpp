// Predicted against published kernel times: medians by source stay where the fits left them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/cost/machines.h"
#include "tests/core/cost/measurements.h"

namespace tandem {
namespace {

using measurements::Deviations;
using measurements::Row;

struct Source {
  std::string source, gpu, kernel;
  DeviceKind kind;
  Clock clock;
  double median_limit;  // percent: the fit's own median and a small margin
};

std::vector<Source> sources() {
  const DeviceKind mi250x_die = machines::named("mi250x-128gb", 191.5, 1638, 110);
  DeviceKind pcie = machines::named("a100-pcie-80gb", 312, 1935, 108);
  return {{"Vidur", "A100-80GB", "gemm", machines::a100(), Clock::Boost, 5.5},
          {"Vidur", "H100", "gemm", machines::h100(), Clock::Boost, 6.5},
          {"SimuMax", "A100-80GB PCIe", "gemm", pcie, Clock::Boost, 3.3},
          {"SimuMax", "A100-80GB PCIe", "grouped_gemm", pcie, Clock::Boost, 5},
          {"SimuMax", "B200", "gemm", machines::b200(), Clock::Sustained, 6},
          {"SimuMax", "B200", "grouped_gemm", machines::b200(), Clock::Sustained, 13},
          {"DeepGEMM", "H800", "gemm", machines::h800(), Clock::Boost, 4.6},
          {"DeepGEMM", "H800", "grouped_gemm", machines::h800(), Clock::Boost, 5},
          {"EleutherAI", "A100", "gemm", machines::a100_40gb(), Clock::Boost, 5},
          {"EleutherAI", "V100", "gemm", machines::v100(), Clock::Boost, 8.5},
          {"EleutherAI", "MI250X (1 GCD)", "gemm", mi250x_die, Clock::Boost, 7.5}};
}

MatrixProduct product_of(const Row& row) {
  MatrixProduct p{.m = static_cast<std::int64_t>(row.number("m")),
                  .n = static_cast<std::int64_t>(row.number("n")),
                  .k = static_cast<std::int64_t>(row.number("k"))};
  // That cookbook labels the inner dimension n.
  if (row.contains("source", "EleutherAI")) std::swap(p.n, p.k);
  // Gradients of grouped products are listed with the forward sizes.
  if (row.contains("notes", "bwd_grad_act")) std::swap(p.n, p.k);
  if (row.contains("notes", "bwd_grad_w")) p = {.m = p.n, .n = p.k, .k = p.m};
  p.batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(row.number("batch")));
  p.input = row.contains("dtype", "fp8")    ? DType::Fp8
            : row.contains("dtype", "fp16") ? DType::Fp16
                                            : DType::Bf16;
  p.output_bytes = row.contains("notes", "accumulate=True") ? 8 : 2;
  p.grouped = row["kernel"] == "grouped_gemm";
  return p;
}

double measured_seconds(const Row& row, const MatrixProduct& p) {
  if (row.number("time_us") > 0) return row.number("time_us") * 1e-6;
  return 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
         static_cast<double>(p.batch) / (row.number("tflops") * 1e12);
}

TEST(MeasuredKernels, ArePredictedAsWellAsTheFitSays) {
  const std::vector<Row> rows = measurements::read("kernels.csv");
  if (rows.empty())
    GTEST_SKIP() << "published measurements (../shared/data/measurements/kernels.csv) are absent";
  for (const Source& s : sources()) {
    const auto calibration = s.clock == Clock::Boost ? machines::benchmark() : machines::calibration();
    const CostModel costs(calibration, "megatron", machines::cluster(s.kind, {}, 1));
    Deviations deviations;
    for (const Row& row : rows) {
      if (!row.contains("source", s.source) || row["gpu"] != s.gpu || row["kernel"] != s.kernel) continue;
      const MatrixProduct p = product_of(row);
      deviations.add(costs.compute(machines::work(p), DeviceKindId(0)).device.value, measured_seconds(row, p));
    }
    const std::string group = s.source + " " + s.gpu + " " + s.kernel;
    measurements::print(group, deviations);
    EXPECT_LE(deviations.median(), s.median_limit) << group;
  }
}

}  // namespace
}  // namespace tandem
