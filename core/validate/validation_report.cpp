// A validation as text, JSON and CSV.
#include "core/validate/validation_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/validate/timings.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

Json json(const Deviations& d) {
  Json out = {{"rows", d.rows},
              {"median_abs_deviation", d.median_abs},
              {"mean_abs_deviation", d.mean_abs},
              {"bias", d.bias},
              {"p90_abs_deviation", d.p90_abs}};
  if (d.rank_correlation) out["rank_correlation"] = *d.rank_correlation;
  return out;
}

Json json(const SetReport& set) {
  Json out = {{"set", set.set}};
  Json time = json(set.time);
  out["rows"] = time["rows"];
  out["skipped"] = set.skipped;
  for (auto& [key, value] : time.items())
    if (key != "rows") out[key] = value;
  if (!set.reasons.empty()) out["skipped_because"] = set.reasons;
  if (!set.assumed.empty()) out["assumed"] = set.assumed;
  return out;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }
std::string signed_percent(double share) { return fmt::format("{:+.1f}", 100 * share); }

std::string set_line(const SetReport& set, std::size_t width) {
  const Deviations& d = set.time;
  if (d.rows == 0) return fmt::format("  {:<{}} {:>6} {:>8}\n", set.set, width, 0, set.skipped);
  return fmt::format("  {:<{}} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}\n", set.set, width, d.rows,
                     set.skipped, percent(d.median_abs), percent(d.mean_abs), percent(d.p90_abs),
                     signed_percent(d.bias),
                     d.rank_correlation ? fmt::format("{:.2f}", *d.rank_correlation) : "");
}

}  // namespace

std::string validation_json(const ValidationReport& report) {
  Json out;
  out["sets"] = Json::array();
  for (const SetReport& set : report.sets) out["sets"].push_back(json(set));
  out["all"] = json(report.all);
  if (report.regret.groups > 0)
    out["regret"] = {{"groups", report.regret.groups},
                     {"first", report.regret.first},
                     {"first_median", report.regret.first_median},
                     {"best_of_three", report.regret.best_of_three}};
  if (report.memory.rows > 0) out["memory"] = json(report.memory);
  const FitReport& fits = report.fits;
  if (fits.right + fits.false_fits + fits.false_out_of_memory > 0)
    out["fits"] = {{"right", fits.right},
                   {"false_fits", fits.false_fits},
                   {"false_out_of_memory", fits.false_out_of_memory}};
  return out.dump(2) + "\n";
}

std::string validation_text(const ValidationReport& report) {
  std::size_t width = 4;
  for (const SetReport& set : report.sets) width = std::max(width, set.set.size());
  std::string out = fmt::format(
      "deviation of predicted from measured step times, per cent\n  {:<{}} {:>6} {:>8} {:>8} "
      "{:>8} {:>8} {:>8} {:>6}\n",
      "set", width, "rows", "skipped", "median", "mean", "p90", "bias", "rank");
  for (const SetReport& set : report.sets) out += set_line(set, width);
  out += set_line(report.all, width);
  if (report.regret.groups > 0)
    out += fmt::format(
        "plans: in {} groups the plan ranked first is {} % slower than the best (median {} %), the best of "
        "the first three {} %\n",
        report.regret.groups, percent(report.regret.first), percent(report.regret.first_median),
        percent(report.regret.best_of_three));
  if (report.memory.rows > 0)
    out += fmt::format("memory: {} rows, median {} %, mean {} %, p90 {} %, bias {} %\n", report.memory.rows,
                       percent(report.memory.median_abs), percent(report.memory.mean_abs),
                       percent(report.memory.p90_abs), signed_percent(report.memory.bias));
  const FitReport& fits = report.fits;
  if (const std::size_t all = fits.right + fits.false_fits + fits.false_out_of_memory; all > 0)
    out +=
        fmt::format("fits in memory: {} of {} verdicts right, {} wrongly said to fit, {} wrongly said not to\n",
                    fits.right, all, fits.false_fits, fits.false_out_of_memory);
  if (!report.all.reasons.empty()) {
    out += "skipped\n";
    for (const SetReport& set : report.sets)
      for (const auto& [reason, count] : set.reasons)
        out += fmt::format("  {:<{}} {:>6}  {}\n", set.set, width, count, reason);
  }
  bool first = true;
  for (const SetReport& set : report.sets) {
    if (set.assumed.empty()) continue;
    if (first) out += "taken from the framework's defaults where cells are empty\n";
    first = false;
    std::vector<std::string> parts;
    for (const auto& [what, count] : set.assumed) parts.push_back(fmt::format("{} ({})", what, count));
    out += fmt::format("  {:<{}} {}\n", set.set, width, fmt::join(parts, ", "));
  }
  return out;
}

std::string timing_json(const TimingReport& report) {
  Json out;
  out["sets"] = Json::array();
  for (const SetReport& set : report.sets) out["sets"].push_back(json(set));
  out["all"] = json(report.all);
  return out.dump(2) + "\n";
}

std::string timing_text(const TimingReport& report, const std::string& what) {
  std::size_t width = 4;
  for (const SetReport& set : report.sets) width = std::max(width, set.set.size());
  std::string out = fmt::format(
      "deviation of predicted from measured {}, per cent\n  {:<{}} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}\n",
      what, "set", width, "rows", "skipped", "median", "mean", "p90", "bias", "rank");
  for (const SetReport& set : report.sets) out += set_line(set, width);
  out += set_line(report.all, width);
  if (!report.all.reasons.empty()) out += "skipped\n";
  for (const auto& [reason, count] : report.all.reasons) out += fmt::format("  {:>6}  {}\n", count, reason);
  return out;
}

std::string rows_csv(const ValidationReport& report) {
  std::string out =
      "id,set,skipped,profile,micro_batch,measured_s,predicted_s,deviation,measured_memory_bytes,predicted_"
      "reserved_bytes,"
      "predicted_allocated_bytes,fits,predicted_fits,assumed\n";
  for (const RowResult& result : report.rows) {
    out += fmt::format("{},{},{}", csv_field(result.row.id), csv_field(result.row.set),
                       csv_field(result.skipped.empty() || result.prediction.refused.empty()
                                     ? result.skipped
                                     : result.skipped + ": " + result.prediction.refused));
    if (!result.skipped.empty() || !result.run) {
      out += ",,,,,,,,,,,\n";
      continue;
    }
    const auto seconds = result.seconds();
    const auto memory = result.memory();
    out += fmt::format(
        ",{},{},{},{:.6g},{},{},{:.0f},{:.0f},{},{},{}\n", result.run->framework,
        result.prediction.micro_batch_size, seconds ? fmt::format("{:.6g}", seconds->measured) : "",
        result.prediction.step.value, seconds ? fmt::format("{:.4f}", seconds->deviation()) : "",
        memory ? fmt::format("{:.0f}", memory->measured) : "", result.prediction.reserved.value,
        result.prediction.allocated.value, result.run->fits ? (*result.run->fits ? "yes" : "no") : "",
        result.prediction.fits ? "yes" : "no",
        csv_field(fmt::format("{}", fmt::join(result.run->assumed, "; "))));
  }
  return out;
}

std::string worst_rows(const ValidationReport& report, const std::shared_ptr<const Calibration>& calibration,
                       std::size_t count) {
  std::vector<const RowResult*> order;
  for (const RowResult& result : report.rows)
    if (result.seconds()) order.push_back(&result);
  std::stable_sort(order.begin(), order.end(), [](const RowResult* a, const RowResult* b) {
    return std::abs(std::log(a->seconds()->predicted / a->seconds()->measured)) >
           std::abs(std::log(b->seconds()->predicted / b->seconds()->measured));
  });
  if (order.size() > count) order.resize(count);
  std::string out;
  for (const RowResult* result : order) {
    const Pair seconds = *result->seconds();
    const PlanSpec& plan = result->run->plan;
    out += fmt::format("{}: measured {:.4g} s, predicted {:.4g} s ({} %)\n", result->row.id, seconds.measured,
                       seconds.predicted, signed_percent(seconds.deviation()));
    out += fmt::format("  {} on {} {}, {}: tp {} pp {} cp {} dp {}, microbatch {}, batch {}\n",
                       result->row.model_name, result->row.num_gpus.value_or(0), result->row.gpu,
                       result->run->framework, plan.tensor_model_parallel_size,
                       plan.pipeline_model_parallel_size, plan.context_parallel_size, plan.data_parallel_size,
                       result->prediction.micro_batch_size, plan.global_batch_size);
    std::string parts = explain_case(*result->run, calibration);
    for (std::size_t at = 0; at < parts.size();) {
      const std::size_t end = std::min(parts.find('\n', at), parts.size());
      out += "  " + parts.substr(at, end - at) + "\n";
      at = end + 1;
    }
    out += '\n';
  }
  return out;
}

}  // namespace tandem
