// The report of a record.
#include "core/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/units/text.h"

namespace tandem {
namespace {

using Rows = std::vector<std::vector<std::string>>;

struct Summary {
  const std::map<std::string, double>& values;
  std::optional<double> operator[](const std::string& key) const {
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
};

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
// A tenth of a GiB is as exact as anybody buys memory; what a core holds is told in MiB.
std::string gib(double amount) {
  return amount > 0 && amount < 0.1 ? fmt::format("{:.1f} MiB", amount * 1024)
                                    : fmt::format("{:.1f} GiB", amount);
}

std::string money(double usd) {
  if (usd >= 1e6) return fmt::format("${:.2f} million", usd / 1e6);
  if (usd >= 1000) return "$" + text_grouped(std::llround(usd));
  return usd >= 1 ? fmt::format("${:.2f}", usd) : fmt::format("${:.4f}", usd);
}

void write_head(const RunRecord& record, Output& out) {
  const RecordHeader& header = record.header;
  out.add(
      table({{"model", header.model}, {"cluster", header.cluster}, {"plan", header.plan}}, {false, false}, ""));
  out.line();
}

// A record of a run that goes on, or that failed, says so before any number.
void write_state_of_run(const RecordHeader& header, Output& out) {
  if (header.state == RunState::Finished) return;
  out.line(out.styled(state_text(header.state, header.failure), Style::Bad));
  out.line();
}

void write_speed(const RunRecord& record, const Summary& summary, Output& out) {
  const auto step = summary["step_time_s"];
  std::string line = fmt::format("step {}", step ? text(Seconds(*step)) : "of unknown length");
  out.add(out.styled(line, Style::Bold));
  if (const auto tokens = summary["tokens_per_s"]) {
    out.add(fmt::format("   {} tokens/s", text_count(*tokens)));
    if (const auto each = summary["tokens_per_s_per_gpu"])
      out.add(fmt::format(", {} a device", text_count(*each)));
  } else if (const auto samples = summary["samples_per_s"]) {
    out.add(fmt::format("   {} samples/s", text_count(*samples)));
  }
  out.line();
  line.clear();
  if (const auto mfu = summary["mfu"]) line += fmt::format("MFU {}", percent(*mfu));
  if (const auto hfu = summary["hfu"])
    line += fmt::format("{}HFU {}", line.empty() ? "" : "   ", percent(*hfu));
  if (const auto rate = summary["model_tflops_per_gpu"])
    line += fmt::format("{}{:.1f} model TFLOP/s a device", line.empty() ? "" : "   ", *rate);
  if (!line.empty()) out.line(line);
  const std::string fidelity = record.header.fidelity.empty() ? record.header.backend : record.header.fidelity;
  out.line(
      out.styled(fmt::format("fidelity {}{}", fidelity, record.header.backend == "simgrid" ? " (SimGrid)" : ""),
                 Style::Dim));
  out.line();
}

// The mean device's breakdown as the summary has it; of the spans where it has none.
Breakdown mean_parts(const RunRecord& record) {
  const Summary summary{record.summary};
  Breakdown parts;
  const auto step = summary["step_time_s"];
  if (!step || !summary[std::string(key(Activity::Forward))]) return breakdown(record).mean;
  parts.step = Seconds(*step);
  for (std::size_t i = 0; i < activity_count; ++i)
    parts.parts[i] = Seconds(summary[std::string(key(static_cast<Activity>(i)))].value_or(0));
  for (std::size_t i = 0; i < traffic_axis_count; ++i)
    parts.hidden[i] =
        Seconds(summary[fmt::format("hidden_{}_s", name(static_cast<TrafficAxis>(i)))].value_or(0));
  return parts;
}

void write_parts(const Breakdown& parts, Output& out) {
  out.line(out.styled("where the step goes", Style::Title) + " (a device, on average)");
  Rows rows;
  for (std::size_t i = 0; i < activity_count; ++i) {
    if (parts.parts[i].value <= 0) continue;
    const double share = parts.parts[i] / parts.step;
    rows.push_back(
        {std::string(name(static_cast<Activity>(i))), text(parts.parts[i]), percent(share), bar(share, 40)});
  }
  rows.push_back({"step", text(parts.step), percent(1), ""});
  out.add(table(rows, {false, true, true, false}));
  std::string hidden;
  for (std::size_t i = 0; i < traffic_axis_count; ++i)
    if (parts.hidden[i].value > 0)
      hidden += fmt::format("{}{} {}", hidden.empty() ? "" : ", ", name(static_cast<TrafficAxis>(i)),
                            text(parts.hidden[i]));
  if (!hidden.empty()) out.line("  hidden behind computation: " + hidden);
  out.line();
}

// "fits, 12.3 GiB free" or "does NOT fit: 91.2 GiB over".
void write_verdict(const Summary& summary, Output& out) {
  const auto fits = summary["fits"];
  const auto used = summary["reserved_gib"], limit = summary["memory_limit_gib"];
  if (!fits || !used || !limit) return;
  const std::string verdict = *fits != 0 ? fmt::format("fits, {} free", gib(*limit - *used))
                                         : fmt::format("does NOT fit: {} over", gib(*used - *limit));
  out.line("  " + out.styled(verdict, *fits != 0 ? Style::Good : Style::Bad) +
           fmt::format(" ({} of {})", gib(*used), gib(*limit)));
}

// What the machine holds where ranks run on its cores.
void write_resident(const Summary& summary, Output& out) {
  const auto bytes = [](double amount) { return text(gibibytes(amount)); };
  const auto resident = summary["resident_gib"], alone = summary["resident_mpi_gib"];
  const auto processes = summary["processes"];
  if (!resident) return;
  std::string line = fmt::format("  resident {}", bytes(*resident));
  if (alone && summary["devices"].value_or(1) > 1)
    line += fmt::format(" with all ranks in one process, {} with one in each (--mpi)", bytes(*alone));
  else if (processes && *processes > 1)
    line += fmt::format(" in the largest of {:.0f} processes", *processes);
  out.line(line);
}

void write_worst_memory(const RunRecord& record, const Summary& summary, Output& out) {
  const std::vector<StageMemory> stages = memory_of(record);
  if (stages.empty()) return;
  const auto worst = std::max_element(
      stages.begin(), stages.end(),
      [](const StageMemory& a, const StageMemory& b) { return a.allocated - a.limit < b.allocated - b.limit; });
  std::string title = "memory";
  if (stages.size() > 1) title += fmt::format(" of stage {}, which holds most", worst->stage);
  out.line(out.styled(title, Style::Title));
  Rows rows;
  const double whole = worst->limit.value > 0 ? worst->limit.value : worst->allocated.value;
  for (std::size_t i = 0; i < worst->classes.size(); ++i)
    if (worst->classes[i].value > 0)
      rows.push_back({std::string(name(static_cast<BufferClass>(i))),
                      gib(worst->classes[i].value / gibibytes(1).value),
                      bar(worst->classes[i].value / whole, 40)});
  if (const auto beside = summary["context_gib"])
    rows.push_back({"context, libraries", gib(*beside), bar(*beside * gibibytes(1).value / whole, 40)});
  out.add(table(rows, {false, true, false}));
  write_verdict(summary, out);
  write_resident(summary, out);
  out.line();
}

void write_cost(const RunRecord& record, const Summary& summary, Output& out) {
  Rows rows;
  const auto add = [&](const std::string& key, const std::string& label, auto print) {
    if (const auto value = summary[key]) rows.push_back({label, print(*value)});
  };
  add("cost_per_step", "a step", money);
  add("cost_per_billion_tokens", "a billion tokens", money);
  add("energy_per_step_kwh", "energy a step, devices at full power",
      [](double kwh) { return fmt::format("{:.3g} kWh", kwh); });
  add("training_days", "the whole run", [](double days) { return fmt::format("{:.1f} days", days); });
  add("training_cost", "the whole run", money);
  if (rows.empty()) return;
  std::string title = out.styled("cost", Style::Title);
  if (const auto price = record.header.notes.find("price"); price != record.header.notes.end())
    title += " at " + price->second;
  out.line(title);
  out.add(table(rows, {false, true}));
  out.line();
}

}  // namespace

void write_report(const RunRecord& record, const ReportOptions& options, Output& out) {
  const Summary summary{record.summary};
  write_head(record, out);
  write_state_of_run(record.header, out);
  write_speed(record, summary, out);
  if (!record.spans.empty()) write_parts(mean_parts(record), out);
  write_worst_memory(record, summary, out);
  write_cost(record, summary, out);
  const auto& notes = record.header.notes;
  if (const auto bottleneck = notes.find("bottleneck"); bottleneck != notes.end())
    out.line(out.styled("bottleneck", Style::Title) + "  " + bottleneck->second);
  if (!options.remarks) return;
  for (const auto& [topic, remark] : notes)
    if (topic.starts_with("remark")) out.line(out.styled("note", Style::Dim) + "  " + remark);
}

std::string summary_json(const RunRecord& record) {
  nlohmann::ordered_json json;
  json["model"] = record.header.model;
  json["cluster"] = record.header.cluster;
  json["plan"] = record.header.plan;
  json["backend"] = record.header.backend;
  json["fidelity"] = record.header.fidelity;
  json["program_version"] = record.header.program_version;
  json["scenario_digest"] = record.header.scenario_digest;
  json["seed"] = record.header.seed;
  if (record.header.state != RunState::Finished)
    json["state"] = state_text(record.header.state, record.header.failure);
  for (const auto& [key, value] : record.summary) {
    if (key == "fits")
      json[key] = value != 0;
    else if (std::isfinite(value) && value == std::floor(value) && std::fabs(value) < 1e15 &&
             !key.ends_with("_s") && !key.ends_with("_gib"))
      json[key] = static_cast<std::int64_t>(value);
    else
      json[key] = value;
  }
  if (const auto bottleneck = record.header.notes.find("bottleneck"); bottleneck != record.header.notes.end())
    json["bottleneck"] = bottleneck->second;
  nlohmann::ordered_json remarks = nlohmann::ordered_json::array();
  for (const auto& [topic, remark] : record.header.notes)
    if (topic.starts_with("remark")) remarks.push_back(remark);
  json["remarks"] = remarks;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void write_breakdown(const RunRecord& record, Output& out) {
  const StepBreakdown all = breakdown(record);
  std::vector<bool> right{false};
  Rows rows{{""}};
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < activity_count; ++i)
    if (std::any_of(all.ranks.begin(), all.ranks.end(),
                    [&](const RankBreakdown& r) { return r.breakdown.parts[i].value > 0; }))
      shown.push_back(i);
  for (const std::size_t i : shown) {
    rows[0].push_back(std::string(name(static_cast<Activity>(i))));
    right.push_back(true);
  }
  rows[0].push_back("step");
  right.push_back(true);
  const auto add = [&](const std::string& title, const Breakdown& parts) {
    rows.push_back({title});
    for (const std::size_t i : shown)
      rows.back().push_back(parts.parts[i].value > 0 ? text(parts.parts[i]) : "-");
    rows.back().push_back(text(parts.step));
  };
  for (const RankBreakdown& rank : all.ranks)
    add(fmt::format("stage {} (rank {}, {} alike)", rank.stage, rank.rank.value, rank.multiplicity),
        rank.breakdown);
  add("mean", all.mean);
  out.line(out.styled("breakdown", Style::Title));
  out.add(table(rows, right));
  out.line();
}

void write_memory(const RunRecord& record, Output& out) {
  out.line(out.styled("memory at the peak of each stage", Style::Title));
  const std::vector<StageMemory> stages = memory_of(record);
  Rows rows{{"", "at"}};
  std::vector<bool> right{false, true};
  for (std::size_t i = 0; i < static_cast<std::size_t>(BufferClass::Count); ++i) {
    rows[0].push_back(std::string(name(static_cast<BufferClass>(i))));
    right.push_back(true);
  }
  rows[0].insert(rows[0].end(), {"allocated", "device"});
  right.insert(right.end(), {true, true});
  for (const StageMemory& stage : stages) {
    rows.push_back({fmt::format("stage {} (rank {})", stage.stage, stage.rank.value), text(stage.when)});
    for (const Bytes size : stage.classes) rows.back().push_back(size.value > 0 ? text(size) : "-");
    rows.back().push_back(text(stage.allocated));
    rows.back().push_back(stage.limit.value > 0 ? text(stage.limit) : "unknown");
  }
  out.add(table(rows, right));
  write_verdict(Summary{record.summary}, out);
  write_resident(Summary{record.summary}, out);
  out.line();
}

}  // namespace tandem
