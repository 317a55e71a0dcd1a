// Whole commands against their targets: bench_process PROGRAM_FOLDER SOURCE_FOLDER [--runs N] [--only TEXT]
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "tests/benchmarks/process.h"

namespace {

using tandem::ProcessRun;
using tandem::run_process;

struct Target {
  double wall_s = 0;
  std::optional<double> peak_bytes;
};

struct Case {
  std::string name;
  std::vector<std::string> arguments;  // of tandem; paths from the source folder
  Target target;
  bool once = false;  // minutes long: a single run without warm-up
};

constexpr double megabyte = 1e6, gibibyte = 1024.0 * 1024.0 * 1024.0;

// The figures that the first part of Tandem set out to reach on a machine with two cores.
const std::vector<Case>& cases() {
  static const std::string llama = "scenarios/llama-3.1-405b-16k-h100.toml";
  static const std::string gpt3 = "scenarios/gpt3-175b-1024-a100.toml";
  static const std::vector<Case> all = {
      {"405B, 16,384 H100: folded", {"predict", llama}, {1.0, 300 * megabyte}},
      {"405B, 16,384 H100: fused", {"predict", llama, "--fidelity", "fused"}, {0.2, {}}},
      {"GPT-3 175B, 1,024 A100: folded", {"predict", gpt3}, {0.3, {}}},
      {"all_reduce 64M, 4,096 devices",
       {"collective", "--op", "all_reduce", "--cluster", "dgx-h100:512", "--sizes", "64M"},
       {0.1, 100 * megabyte}},
      {"all_to_all 64M, 4,096 devices",
       {"collective", "--op", "all_to_all", "--cluster", "dgx-h100:512", "--sizes", "64M"},
       {0.1, 100 * megabyte}},
      {"405B, 16,384 H100: full", {"predict", llama, "--fidelity", "full"}, {300, 2 * gibibyte}, true},
  };
  return all;
}

struct Options {
  std::string programs, sources, only;
  int runs = 9;
};

template <typename Value>
Value median(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string text(const Target& target) {
  const std::string wall = fmt::format("<= {:g} s", target.wall_s);
  if (!target.peak_bytes) return wall;
  return *target.peak_bytes >= gibibyte ? fmt::format("{}, <= {:g} GiB", wall, *target.peak_bytes / gibibyte)
                                        : fmt::format("{}, <= {:g} MB", wall, *target.peak_bytes / megabyte);
}

// Prints the row of one case; false when the command failed.
bool measure(const Case& one, const Options& options) {
  std::vector<std::string> command = {options.programs + "/tandem"};
  for (const std::string& argument : one.arguments) {
    command.push_back(argument.starts_with("scenarios/") ? options.sources + "/" + argument : argument);
  }
  const int runs = one.once ? 1 : options.runs;
  const int warm_ups = one.once ? 0 : 1;
  std::vector<double> wall, cpu;
  double peak = 0;
  for (int run = 0; run < warm_ups + runs; ++run) {
    const ProcessRun result = run_process(command);
    if (result.exit_code != 0) {
      fmt::print("| {} | failed with exit code {} | | | | {} | not met |\n", one.name, result.exit_code,
                 text(one.target));
      fmt::print(stderr, "{}\n", result.errors);
      return false;
    }
    if (run < warm_ups) continue;
    wall.push_back(result.wall_s);
    cpu.push_back(result.cpu_s);
    peak = std::max(peak, static_cast<double>(result.peak_bytes));
  }
  const bool met = median(wall) <= one.target.wall_s && peak <= one.target.peak_bytes.value_or(peak);
  const auto [shortest, longest] = std::minmax_element(wall.begin(), wall.end());
  fmt::print("| {} | {:.3f} s of {} | {:.3f} .. {:.3f} s | {:.3f} s | {:.0f} MB | {} | {} |\n", one.name,
             median(wall), runs, *shortest, *longest, median(cpu), peak / megabyte, text(one.target),
             met ? "met" : "not met");
  std::fflush(stdout);
  return true;
}

std::optional<Options> read_options(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments.size() % 2 != 0) return std::nullopt;
  Options options{.programs = arguments[0], .sources = arguments[1], .only = ""};
  for (std::size_t i = 2; i < arguments.size(); i += 2) {
    if (arguments[i] == "--runs") {
      options.runs = std::atoi(arguments[i + 1].c_str());
    } else if (arguments[i] == "--only") {
      options.only = arguments[i + 1];
    } else {
      return std::nullopt;
    }
  }
  return options.runs > 0 ? std::optional(options) : std::nullopt;
}

}  // namespace

int main(int count, char** values) try {
  const std::optional<Options> options = read_options({values + 1, values + count});
  if (!options) {
    fmt::print(stderr, "usage: bench_process PROGRAM_FOLDER SOURCE_FOLDER [--runs N] [--only TEXT]\n");
    return 2;
  }
  fmt::print("| command | wall, median | shortest .. longest | processor, median | peak memory | target | |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  std::fflush(stdout);
  bool all_ran = true, any_chosen = false;
  for (const Case& one : cases()) {
    if (one.name.find(options->only) == std::string::npos) continue;
    any_chosen = true;
    all_ran = measure(one, *options) && all_ran;
  }
  if (!any_chosen) fmt::print(stderr, "bench_process: no command's name holds '{}'\n", options->only);
  return all_ran && any_chosen ? 0 : 1;
} catch (const std::exception& failure) {
  fmt::print(stderr, "bench_process: {}\n", failure.what());
  return 3;
}
