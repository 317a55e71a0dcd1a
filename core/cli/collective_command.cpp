// tandem collective: predicted times of one collective over sizes, in the columns of nccl-tests.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/cli/describe.h"
#include "core/cli/prediction.h"
#include "core/cli/run_context.h"
#include "core/cost/calibration.h"
#include "core/estimate/estimate.h"
#include "core/units/text.h"

namespace tandem {
namespace {

constexpr double most_size = 1e15;

// "8", "64K", "1G" as nccl-tests takes them: binary; "64KiB" and "64KB" too.
std::optional<double> size_of(std::string typed) {
  double number = 0;
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  const std::string unit = typed.substr(static_cast<std::size_t>(end - typed.data()));
  static const std::map<std::string, double> units = {{"", 1}, {"B", 1}};
  static constexpr std::string_view letters = "KMGT";
  if (const auto known = units.find(unit); known != units.end()) return number * known->second;
  const std::size_t power = letters.find(unit[0] == 'k' ? 'K' : unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string rest = unit.substr(1);
  if (!rest.empty() && rest != "B" && rest != "iB") return std::nullopt;
  return number * std::pow(1024.0, static_cast<double>(power) + 1);
}

std::vector<Bytes> sizes_of(const std::string& range) {
  const std::size_t dots = range.find("..");
  const auto first = size_of(range.substr(0, dots));
  const auto last = dots == std::string::npos ? first : size_of(range.substr(dots + 2));
  if (!first || !last || *first > *last || *first < 1)
    refuse({}, fmt::format("--sizes {} is not a range of sizes", text(KeyValue{range})),
           "as in 8..8G, or 64M for one size");
  if (*last > most_size)
    refuse({}, fmt::format("--sizes {} ends above {}", text(KeyValue{range}), text(Bytes(most_size))),
           "as in 8..8G, or 64M for one size");
  std::vector<Bytes> sizes;
  for (double size = *first; size <= *last * (1 + 1e-9); size *= 2) sizes.emplace_back(std::floor(size));
  return sizes;
}

// Not every collective is made by every algorithm on every machine; what was asked for is not replaced.
void check_algorithm(const Collective& asked, const CostModel& costs, const std::vector<DeviceId>& members) {
  const auto works = [&](Algorithm algorithm) {
    Collective collective = asked;
    collective.algorithm = algorithm;
    return costs.collective(collective, members).algorithm == algorithm;
  };
  if (asked.algorithm == Algorithm::Auto || works(asked.algorithm)) return;
  std::string others;
  for (const Algorithm other : {Algorithm::Ring, Algorithm::Tree, Algorithm::HalvingDoubling,
                                Algorithm::Hierarchical, Algorithm::Nvls, Algorithm::Pairwise})
    if (works(other)) others += fmt::format("{}{}", others.empty() ? "" : ", ", name(other));
  refuse({},
         fmt::format("--algorithm {}: {} among these {} devices cannot be made so", name(asked.algorithm),
                     name(asked.kind), members.size()),
         others.empty() ? "leave --algorithm out" : fmt::format("use auto, {}", others));
}

// One program for all ranks: the collective at each size, one after the other.
TaskGraph graph_of(CollectiveKind kind, Algorithm algorithm, const std::vector<Bytes>& sizes,
                   std::size_t ranks) {
  TaskGraph graph;
  graph.mesh = Mesh(MeshShape{.dp = static_cast<std::int64_t>(ranks),
                              .edp = static_cast<std::int64_t>(ranks),
                              .shard = static_cast<std::int64_t>(ranks),
                              .expert_shard = static_cast<std::int64_t>(ranks)});
  Program program;
  for (const Bytes size : sizes) {
    Task task;
    task.work = graph.works.push_back(
        Collective{.kind = kind, .axis = Axis::DataContext, .size = size, .algorithm = algorithm});
    task.label = graph.labels.push_back(fmt::format("{}.{:.0f}", name(kind), size.value));
    task.lane = Lane::Data;
    program.tasks.push_back(task);
  }
  program.after_begin.assign(sizes.size() + 1, 0);
  const ProgramId id = graph.programs.push_back(std::move(program));
  graph.program_of.assign(ranks, id);
  for (std::size_t rank = 0; rank < ranks; ++rank) graph.device_of.push_back(static_cast<std::uint32_t>(rank));
  return graph;
}

struct Row {
  Bytes size;
  double count = 0;
  Seconds time;
  double algbw = 0, busbw = 0;
  std::string algorithm, protocol;
};

// Elements a rank sends or receives, as nccl-tests counts them, of fp32.
double count_of(CollectiveKind kind, Bytes size, std::size_t ranks) {
  const bool per_rank = kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter ||
                        kind == CollectiveKind::AllToAll;
  return std::floor(size.value / 4 / (per_rank ? static_cast<double>(ranks) : 1));
}

std::string bandwidth(double rate) {
  return rate >= 0.005 ? fmt::format("{:.2f}", rate) : fmt::format("{:.2g}", rate);
}

void print(const std::vector<Row>& rows, CollectiveKind kind, Output& out) {
  const bool reduces = kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter ||
                       kind == CollectiveKind::Reduce;
  const bool rooted = kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce;
  out.line(fmt::format("#{:>12} {:>14} {:>8} {:>7} {:>5} {:>10} {:>8} {:>8}  {:<9} {}", "size", "count", "type",
                       "redop", "root", "time", "algbw", "busbw", "algorithm", "protocol"));
  out.line(fmt::format("#{:>12} {:>14} {:>8} {:>7} {:>5} {:>10} {:>8} {:>8}", "(B)", "(elements)", "", "", "",
                       "(us)", "(GB/s)", "(GB/s)"));
  for (const Row& row : rows)
    out.line(fmt::format(" {:>12.0f} {:>14.0f} {:>8} {:>7} {:>5} {:>10.2f} {:>8} {:>8}  {:<9} {}",
                         row.size.value, row.count, "float", reduces ? "sum" : "none", rooted ? 0 : -1,
                         row.time.value * 1e6, bandwidth(row.algbw), bandwidth(row.busbw), row.algorithm,
                         row.protocol));
}

}  // namespace

int run_collective(RunContext& run) {
  const Arguments& arguments = run.arguments;
  Problems problems;
  if (!arguments.has("--op")) problems.add({}, "no collective is named", "add --op all_reduce");
  if (!arguments.has("--cluster"))
    problems.add({}, "no cluster is given", "add --cluster dgx-h100:16; tandem clusters lists the presets");
  problems.throw_if_any();
  const auto kind = parse_collective_kind(arguments.value("--op"));
  const auto fidelity =
      arguments.has("--fidelity") ? parse_fidelity(arguments.value("--fidelity")) : Fidelity::Estimate;
  std::optional<Algorithm> algorithm = Algorithm::Auto;
  if (const std::string typed = arguments.value("--algorithm"); !typed.empty() && typed != "auto")
    algorithm = parse_algorithm(typed);
  check(kind && fidelity && algorithm, "the options' choices are names of the enumerations");
  const std::vector<Bytes> sizes = sizes_of(arguments.has("--sizes") ? arguments.value("--sizes") : "1M..1G");

  Scenario scenario;
  const Library library = read_library(run.scenarios);
  scenario.cluster = cluster_from_text(library.catalog, arguments.value("--cluster"), {});
  if (arguments.has("--framework")) scenario.framework = arguments.value("--framework");
  const Cluster cluster = build_cluster(scenario.cluster);
  const auto devices = static_cast<std::int64_t>(cluster.device_count());
  const auto ranks = static_cast<std::size_t>(arguments.number("--ranks", 2, devices).value_or(devices));
  if (ranks < 2)
    refuse({}, "a collective among one device moves nothing", "give a cluster of two devices or more");
  const CostModel costs = cost_model_of(scenario, cluster, run.scenarios);

  std::vector<DeviceId> members;
  for (std::size_t rank = 0; rank < ranks; ++rank) members.emplace_back(rank);
  for (const Bytes size : sizes)
    check_algorithm({.kind = *kind, .axis = Axis::DataContext, .size = size, .algorithm = *algorithm}, costs,
                    members);

  if (*fidelity != Fidelity::Estimate && !run.backends.simulate) run.backends.start_simulator();
  const TaskGraph graph = graph_of(*kind, *algorithm, sizes, ranks);
  PlayOptions play;
  play.fidelity = *fidelity;
  play.recorded = {RankId(std::size_t{0})};
  play.progress = [&](double) { return !run.interrupted(); };
  const Playback playback = *fidelity == Fidelity::Estimate
                                ? estimate(graph, cluster, costs, play)
                                : run.backends.simulate(graph, cluster, costs, play);
  if (!playback.complete) return exit_interrupted;
  check(playback.ranks.size() == 1 && playback.ranks[0].tasks.size() == sizes.size(),
        "the first rank's times are recorded");

  std::vector<Row> rows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const TaskTimes& times = playback.ranks[0].tasks[i];
    const CommunicationCost cost = costs.collective(std::get<Collective>(graph.works[WorkId(i)]), members);
    Row row{.size = sizes[i],
            .count = count_of(*kind, sizes[i], ranks),
            .time = times.end - times.start,
            .algorithm = std::string(name(cost.algorithm)),
            .protocol = std::string(cost.protocol)};
    if (row.time.value > 0) row.algbw = (row.size / row.time).value / 1e9;
    row.busbw = row.algbw * bus_factor(*kind, ranks);
    rows.push_back(std::move(row));
  }
  if (arguments.has("--json")) {
    nlohmann::ordered_json json;
    json["op"] = arguments.value("--op");
    json["cluster"] = describe_cluster(cluster);
    json["ranks"] = ranks;
    json["fidelity"] = std::string(name(playback.fidelity));
    for (const Row& row : rows)
      json["rows"].push_back({{"size", static_cast<std::int64_t>(row.size.value)},
                              {"time_s", row.time.value},
                              {"algbw", row.algbw},
                              {"busbw", row.busbw},
                              {"algorithm", row.algorithm},
                              {"protocol", row.protocol}});
    run.out.line(json.dump(2));
    return 0;
  }
  run.out.line(fmt::format("# {} among {} devices of {}, fidelity {}", name(*kind), ranks,
                           describe_cluster(cluster), name(playback.fidelity)));
  print(rows, *kind, run.out);
  return 0;
}

}  // namespace tandem
