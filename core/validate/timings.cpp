// Rows of timings to works, works to costs, costs to deviations by source.
#include "core/validate/timings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "core/cost/cost_model.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

constexpr double mebibyte = 1048576;

// Cells of one row.
class TimingRow {
 public:
  TimingRow(const CsvTable& table, const CsvTable::Row& row) : table_(table), row_(row) {}
  std::string text(std::string_view column) const { return std::string(table_.cell(row_, column)); }
  bool has(std::string_view column, std::string_view part) const {
    return table_.cell(row_, column).find(part) != std::string_view::npos;
  }
  // 0 for cells that are empty or no numbers.
  double number(std::string_view column) const {
    const std::string_view cell = table_.cell(row_, column);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    return error == std::errc() && end == cell.data() + cell.size() ? value : 0;
  }
  std::int64_t whole(std::string_view column) const { return static_cast<std::int64_t>(number(column)); }

 private:
  const CsvTable& table_;
  const CsvTable::Row& row_;
};

// A prediction and a measurement in seconds, or why there is none.
using Outcome = std::variant<Pair, Skip>;

TimingReport report_of(const CsvTable& table, const std::function<std::string(const TimingRow&)>& set_of,
                       const std::function<Outcome(const TimingRow&)>& predict) {
  TimingReport report;
  report.all.set = "all";
  std::map<std::string, std::size_t> place;
  std::map<std::string, std::vector<Pair>> pairs;
  std::vector<Pair> all;
  for (const CsvTable::Row& cells : table.rows) {
    const TimingRow row(table, cells);
    const std::string name = set_of(row);
    const auto [found, fresh] = place.emplace(name, report.sets.size());
    if (fresh) report.sets.emplace_back().set = name;
    const Outcome outcome = predict(row);
    if (const Skip* skip = std::get_if<Skip>(&outcome)) {
      for (SetReport* of : {&report.sets[found->second], &report.all}) {
        ++of->skipped;
        ++of->reasons[skip->reason];
      }
      continue;
    }
    pairs[name].push_back(std::get<Pair>(outcome));
    all.push_back(std::get<Pair>(outcome));
  }
  for (SetReport& set : report.sets) set.time = deviations(pairs[set.set]);
  report.all.time = deviations(all);
  return report;
}

// The machine that a row names; kept, since tables name few.
class Machines {
 public:
  Machines(const Catalog& catalog, const Calibration& calibration)
      : catalog_(catalog), calibration_(calibration) {}

  struct Machine {
    Cluster cluster;
    CostModel costs;
  };
  std::variant<const Machine*, Skip> find(const std::string& gpu, const std::string& net, std::int64_t nodes,
                                          std::int64_t per_node, Seconds start, Clock clock,
                                          const std::string& attention = {}) {
    const std::string key = fmt::format("{}|{}|{}|{}|{}|{}|{}", gpu, net, nodes, per_node, start.value,
                                        clock == Clock::Boost, attention);
    if (const auto known = known_.find(key); known != known_.end()) return known->second.get();
    RunRow row;
    row.gpu = gpu;
    row.inter_node_net = net;
    row.num_gpus = nodes * per_node;
    row.gpus_per_node = per_node;
    std::variant<ClusterSpec, Skip> made = row_cluster(row, catalog_);
    if (const Skip* skip = std::get_if<Skip>(&made)) return *skip;
    ClusterSpec spec = std::get<ClusterSpec>(made);
    DeviceKind& device = spec.groups.front().device;
    if (gpu.find("1 GCD") != std::string::npos) {  // half of the package
      for (auto& [dtype, rate] : device.peak) rate *= 0.5;
      device.memory_bandwidth *= 0.5;
      device.compute_units /= 2;
    }
    auto constants = std::make_shared<Calibration>(calibration_);
    constants->environment.collective_start = start;
    constants->environment.clock = clock;
    if (!attention.empty()) constants->frameworks["kernels"].attention = {attention};
    try {
      Cluster cluster = build_cluster(spec);
      CostModel costs(constants, "kernels", cluster);
      auto machine = std::make_unique<Machine>(Machine{std::move(cluster), std::move(costs)});
      return known_.emplace(key, std::move(machine)).first->second.get();
    } catch (const InputError&) {
      return Skip{"the machine cannot be built"};
    }
  }

 private:
  const Catalog& catalog_;
  const Calibration& calibration_;
  std::map<std::string, std::unique_ptr<Machine>> known_;
};

DType dtype_of(const TimingRow& row) {
  return row.has("dtype", "fp8") ? DType::Fp8 : row.has("dtype", "fp16") ? DType::Fp16 : DType::Bf16;
}

std::optional<Compute> product_of(const TimingRow& row) {
  MatrixProduct p{.m = row.whole("m"), .n = row.whole("n"), .k = row.whole("k")};
  if (row.has("source", "EleutherAI")) std::swap(p.n, p.k);  // that cookbook labels the inner dimension n
  // Gradients of grouped products are listed with the forward sizes.
  if (row.has("notes", "bwd_grad_act")) std::swap(p.n, p.k);
  if (row.has("notes", "bwd_grad_w")) p = {.m = p.n, .n = p.k, .k = p.m};
  if (p.m <= 0 || p.n <= 0 || p.k <= 0) return std::nullopt;
  p.batch = std::max<std::int64_t>(1, row.whole("batch"));
  p.input = dtype_of(row);
  p.output_bytes = row.has("notes", "accumulate=True") ? 8 : 2;
  p.grouped = row.text("kernel") == "grouped_gemm";
  Compute work;
  work.kernel = p;
  work.flops = Flops(2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
                     static_cast<double>(p.batch));
  return work;
}

// Forward, backward or both, as one or two kernels; the flops as the sources count them.
std::vector<Compute> attention_of(const TimingRow& row) {
  FusedAttention a;
  a.batch = std::max<std::int64_t>(1, row.whole("batch"));
  a.heads = row.whole("heads");
  a.kv_heads = row.whole("kv_heads") > 0 ? row.whole("kv_heads") : a.heads;
  a.q_length = a.kv_length = row.whole("seq");
  a.qk_head_dim = a.v_head_dim = row.whole("head_dim");
  a.mask = row.text("causal") == "1" ? AttentionMask::Causal : AttentionMask::Full;
  a.dtype = DType::Bf16;
  if (a.heads <= 0 || a.q_length <= 0 || a.qk_head_dim <= 0) return {};
  const double forward =
      4.0 * static_cast<double>(a.batch * a.heads) * static_cast<double>(a.q_length) *
      static_cast<double>(a.kv_length) * static_cast<double>(a.qk_head_dim) *
      (a.mask == AttentionMask::Causal && !row.has("source", "SimuMax") ? 0.5 : 1);  // that one counts all
  std::vector<Compute> works;
  const std::string kernel = row.text("kernel");
  for (const bool backward : {false, true}) {
    if (backward ? kernel == "attn_fwd" : kernel == "attn_bwd") continue;
    Compute work;
    a.backward = backward;
    work.kernel = a;
    work.flops = Flops(forward * (backward ? 2.5 : 1));
    works.push_back(work);
  }
  return works;
}

Seconds way_of_timing(const TimingRow& row) {
  if (row.has("source", "Vidur") || row.has("source", "vidur")) return microseconds(5);
  for (const char* python : {"ml-eng", "Aceso", "vTrain", "Galva", "nnSc", "BigSc", "playbook"})
    if (row.has("source", python)) return microseconds(25);
  return microseconds(12);
}

}  // namespace

TimingReport validate_kernels(const CsvTable& table, const Catalog& catalog, const Calibration& calibration) {
  Machines machines(catalog, calibration);
  const auto predict = [&](const TimingRow& row) -> Outcome {
    const std::string kernel = row.text("kernel");
    std::vector<Compute> works;
    if (kernel == "gemm" || kernel == "bmm" || kernel == "grouped_gemm") {
      if (const auto product = product_of(row)) works.push_back(*product);
    } else if (kernel.starts_with("attn_")) {
      if (row.has("notes", "impl=") && !row.has("notes", "impl=FA") && !row.has("notes", "impl=cuDNN"))
        return Skip{"an implementation of attention without constants"};
      if (row.has("notes", "impl=FA-Triton")) return Skip{"an implementation of attention without constants"};
      works = attention_of(row);
    } else {
      return Skip{"kernel is not modelled alone: " + kernel};
    }
    if (works.empty()) return Skip{"sizes are missing"};
    const std::string attention = row.has("notes", "impl=FA2")     ? "fa2"
                                  : row.has("notes", "impl=FA3")   ? "fa3"
                                  : row.has("notes", "impl=FA1")   ? "fa1"
                                  : row.has("notes", "impl=cuDNN") ? "cudnn"
                                                                   : "";
    const auto machine = machines.find(row.text("gpu"), "", 1, 1, microseconds(5), Clock::Boost, attention);
    if (const Skip* skip = std::get_if<Skip>(&machine)) return *skip;
    Pair pair;
    double flops = 0;
    for (const Compute& work : works) {
      pair.predicted += std::get<0>(machine)->costs.compute(work, DeviceKindId(0)).device.value;
      flops += work.flops.value;
    }
    pair.measured =
        row.number("time_us") > 0 ? row.number("time_us") * 1e-6 : flops / (row.number("tflops") * 1e12);
    if (!(pair.measured > 0) || pair.measured > 1e6) return Skip{"no time is printed"};
    return pair;
  };
  return report_of(
      table, [](const TimingRow& row) { return row.text("gpu") + " " + row.text("kernel"); }, predict);
}

TimingReport validate_collectives(const CsvTable& table, const Catalog& catalog,
                                  const Calibration& calibration) {
  Machines machines(catalog, calibration);
  const auto predict = [&](const TimingRow& row) -> Outcome {
    const std::optional<CollectiveKind> kind = parse_collective_kind(row.text("collective"));
    if (!kind) return Skip{"collective is not modelled: " + row.text("collective")};
    const std::int64_t nodes = row.whole("nodes"), per_node = row.whole("gpus_per_node");
    if (nodes <= 0 || per_node <= 0 || nodes * per_node < 2) return Skip{"the group is not stated"};
    if (row.number("time_us") <= 0 || row.number("bytes") <= 0) return Skip{"no time or size is printed"};
    const auto machine =
        machines.find(row.text("gpu"), row.text("net"), nodes, per_node, way_of_timing(row), Clock::Boost);
    if (const Skip* skip = std::get_if<Skip>(&machine)) return *skip;
    std::vector<DeviceId> members;
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(nodes * per_node); ++d) members.emplace_back(d);
    const Collective work{.kind = *kind,
                          .size = Bytes(row.number("bytes")),
                          .algorithm = row.has("net", "NVLS disabled") ? Algorithm::Ring : Algorithm::Auto};
    const CommunicationCost cost = std::get<0>(machine)->costs.collective(work, members);
    return Pair{(cost.latency + cost.transfer).value, row.number("time_us") * 1e-6};
  };
  const auto set_of = [](const TimingRow& row) {
    return fmt::format("{} {}", row.text("source"),
                       row.number("bytes") < mebibyte ? "below 1 MiB" : "from 1 MiB");
  };
  return report_of(table, set_of, predict);
}

}  // namespace tandem
