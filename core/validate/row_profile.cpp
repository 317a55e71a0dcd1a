// Which named profile of a framework a row ran under: its version, and the state of the cluster where the row
// tells it.
#include <cmath>
#include <regex>

#include "core/validate/run_case.h"

namespace tandem {
namespace {

// The all-reduce test that each job of the nanotron grid ran before training (GB/s): below this it met the
// crowded network. Healthy jobs read 375 and more on 2 nodes and 153 and more on 4 to 64; crowded ones about
// 820 / nodes.
double healthy_all_reduce(double nodes) {
  if (nodes < 2) return 0;
  if (nodes < 4) return 383;
  if (nodes < 8) return 183;
  return std::max(80.0, 130 * std::pow(8 / nodes, 0.25));
}

// The network of that cluster was crowded from this job on.
constexpr long crowded_from_job = 13848329;

}  // namespace

std::string row_profile(const RunRow& row, const FrameworkDefaults& defaults) {
  std::string profile = defaults.profile;
  if (profile != "nanotron") return profile;
  const double nodes =
      static_cast<double>(row.num_gpus.value_or(1)) / static_cast<double>(row.gpus_per_node.value_or(8));
  std::smatch found;
  static const std::regex test("network test AR/AG/RS GB/s ([0-9.]+)"), job("job ([0-9]+)");
  if (std::regex_search(row.notes, found, test)) {
    if (nodes > 1 && std::stod(found[1]) < healthy_all_reduce(nodes)) profile += "-crowded";
  } else if (std::regex_search(row.notes, found, job)) {
    if (nodes > 1 && std::stol(found[1]) >= crowded_from_job) profile += "-crowded";
  }
  if (row.notes.find("after_pp_fix=False") != std::string::npos && row.pp.value_or(1) > 1 && nodes > 1)
    profile += "-old-pipeline";
  return profile;
}

}  // namespace tandem
