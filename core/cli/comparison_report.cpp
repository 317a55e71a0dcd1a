// The report of a comparison.
#include "core/cli/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cli/comparison_cells.h"
#include "core/compare/explanation.h"
#include "core/units/text.h"

namespace tandem {
namespace {

class Writer {
 public:
  Writer(const Comparison& comparison, const ComparisonTextOptions& options, Output& out)
      : c_(comparison), options_(options), out_(out), sampled_(c_.a.steps > 1 || c_.b.steps > 1) {}

  void run() {
    sides();
    alike();
    step();
    reasons();
    parts();
    axes();
    kinds();
    lanes();
    stages();
    memory();
    losses();
    tasks();
    if (marked_)
      out_.line(out_.styled("~ no more than the steps of one run differ among themselves", Style::Dim));
  }

 private:
  void title(std::string_view text, std::string_view after = "") {
    out_.line(out_.styled(text, Style::Title) + std::string(after));
  }

  // Cells of A, B, their deviation and, where there are several steps, the mark.
  template <class Q>
  void add(TableRow& row, const Compared<Q>& value) {
    add_cells(row, value);
    if (!sampled_) return;
    const bool within = value.change() != Q{} && value.within_spread();
    marked_ = marked_ || within;
    row.push_back(within ? "~" : "");
  }
  // Columns for one Compared; `right` for the table.
  void columns(TableRow& head, std::vector<bool>& right, const std::string& prefix = "") const {
    for (const char* name : {"A", "B", "deviation"}) {
      head.push_back(prefix.empty() ? name : prefix + " " + name);
      right.push_back(true);
    }
    if (!sampled_) return;
    head.emplace_back();
    right.push_back(false);
  }

  static std::string role(const RunSide& side) {
    return is_prediction(side.header) ? "prediction" : "measurement";
  }
  static std::string made_by(const RecordHeader& header) {
    const bool once = header.fidelity.empty() || header.fidelity == header.backend;
    return once ? header.backend : header.backend + " " + header.fidelity;
  }
  static std::string steps(const RunSide& side) {
    if (is_prediction(side.header)) return "";
    std::string text = fmt::format("{} {}", side.steps, side.steps == 1 ? "step" : "steps");
    if (side.header.state != RunState::Finished)
      text += ", " + shortened(state_text(side.header.state, side.header.failure), 30);
    if (side.warmup_steps > 0) text += fmt::format(" after {} of warm-up", side.warmup_steps);
    return text;
  }
  static std::string ranks(const RunSide& side) {
    const std::string all = fmt::format("{} {}", side.ranks, side.ranks == 1 ? "rank" : "ranks");
    return side.recorded == side.ranks ? all : fmt::format("{}, {} recorded", all, side.recorded);
  }
  void sides() {
    const auto row = [](const char* letter, const RunSide& side, const std::string& file) {
      return TableRow{letter, role(side), file, made_by(side.header), ranks(side), steps(side)};
    };
    out_.add(table({row("A", c_.a, options_.file_a), row("B", c_.b, options_.file_b)},
                   {false, false, false, false, false, false}, ""));
    out_.line();
  }

  void alike() {
    TableRows rows;
    const auto add_field = [&](const char* what, bool same, const std::string& a, const std::string& b) {
      if (same) return rows.push_back({what, "same", a.empty() ? "(not named)" : a});
      rows.push_back({what, "A", a.empty() ? "(not named)" : a});
      rows.push_back({"", "B", b.empty() ? "(not named)" : b});
    };
    add_field("model", c_.same.model, c_.a.header.model, c_.b.header.model);
    add_field("cluster", c_.same.cluster, c_.a.header.cluster, c_.b.header.cluster);
    add_field("plan", c_.same.plan, c_.a.header.plan, c_.b.header.plan);
    out_.add(table(rows, {false, false, false}, ""));
    settings();
    out_.line();
  }

  void settings() {
    constexpr std::size_t most = 12, widest = 34;
    if (c_.same.settings.empty()) return;
    title("settings that differ");
    TableRows rows{{"", "A", "B"}};
    const std::size_t shown = std::min(most, c_.same.settings.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const Setting& setting = c_.same.settings[i];
      rows.push_back({shortened(setting.key, widest),
                      shortened(setting.a.empty() ? "-" : setting.a, widest - 8),
                      shortened(setting.b.empty() ? "-" : setting.b, widest - 8)});
    }
    out_.add(table(rows, {false, false, false}));
    if (shown < c_.same.settings.size())
      out_.line(fmt::format("  and {} more", c_.same.settings.size() - shown));
  }

  void step() {
    const auto side = [&](const char* name, const Sampled<Seconds>& time) {
      std::string words = fmt::format("{} {}", name, text(time.median));
      if (time.steps > 1) words += fmt::format(" (spread {})", text(time.spread));
      return words;
    };
    const bool measured = c_.pair == RunPair::PredictionAndMeasurement;
    const std::string line = fmt::format("step  {}   {}   ", side(measured ? "predicted" : "A", c_.step.a),
                                         side(measured ? "measured" : "B", c_.step.b));
    const std::string deviation =
        deviation_text(c_.step) == "0 %" ? "no difference" : "deviation " + deviation_text(c_.step);
    out_.line(out_.styled(line + deviation, Style::Bold));
    out_.line(
        out_.styled("deviation = (A - B) / B", Style::Dim) +
        (sampled_ ? out_.styled("; medians of steps, spreads are interquartile ranges", Style::Dim) : ""));
    out_.line();
  }

  void reasons() {
    if (c_.explanations.empty()) return;
    const Seconds change = c_.step.change();
    title("what the difference is made of",
          change == Seconds(0) ? ": parts that make up for each other"
                               : fmt::format(": B is {} {}", text(Seconds(std::fabs(change.value))),
                                             change > Seconds(0) ? "longer" : "shorter"));
    const auto row = [&](Seconds part, const std::string& words) {
      return TableRow{signed_text(part),
                      change == Seconds(0) ? "" : fmt::format("{:.0f} %", 100 * (part / change)), words};
    };
    TableRows rows;
    const std::size_t shown = std::min(options_.top, c_.explanations.size());
    Seconds rest = change;
    for (std::size_t i = 0; i < shown; ++i) {
      const Explanation& explanation = c_.explanations[i];
      rest -= explanation.time.change();
      add_reason(row(explanation.time.change(), reason(explanation, c_)), remark(explanation), rows);
    }
    if (shown < c_.explanations.size() || std::fabs(rest.value) > 1e-6 * c_.step.b.median.value)
      rows.push_back(row(rest, shown < c_.explanations.size() ? "all others" : "medians do not add up"));
    out_.add(table(rows, {true, true, false}));
    out_.line();
  }
  // The remark on the same line where there is room, else on the next.
  static void add_reason(TableRow row, const std::string& remark, TableRows& rows) {
    constexpr std::size_t room = 78;
    const bool fits = display_width(row.back()) + display_width(remark) + 3 <= room;
    if (!remark.empty() && fits) row.back() += " (" + remark + ")";
    rows.push_back(std::move(row));
    if (!remark.empty() && !fits) rows.push_back({"", "", "(" + remark + ")"});
  }

  void parts() {
    TableRow head{""};
    std::vector<bool> right{false};
    columns(head, right);
    TableRows rows{head};
    for (std::size_t i = 0; i < c_.parts.size(); ++i) {
      if (c_.parts[i].a.median == Seconds(0) && c_.parts[i].b.median == Seconds(0)) continue;
      rows.push_back({std::string(name(static_cast<Activity>(i)))});
      add(rows.back(), c_.parts[i]);
    }
    rows.push_back({"step"});
    add(rows.back(), c_.step);
    title("where the step goes", " (a rank, on average)");
    out_.add(table(rows, right));
    out_.line(fmt::format("  bubble {} against {} of the step; {} against {} of communication is hidden",
                          share_text(c_.bubble.a), share_text(c_.bubble.b), share_text(c_.overlap.a),
                          share_text(c_.overlap.b)));
    out_.line();
  }

  void axes() {
    if (c_.axes.empty()) return;
    TableRow head{""};
    std::vector<bool> right{false};
    columns(head, right, "all");
    columns(head, right, "exposed");
    TableRows rows{head};
    for (const AxisTime& axis : c_.axes) {
      rows.push_back({std::string(name(axis.axis))});
      add(rows.back(), axis.total);
      add(rows.back(), axis.exposed);
    }
    title("communication by axis");
    out_.add(table(rows, right));
    out_.line();
  }

  void kinds() {
    if (c_.kinds.empty()) return;
    TableRow head{"", "", "tasks"};
    std::vector<bool> right{false, false, true};
    columns(head, right);
    TableRows rows{head};
    const std::size_t shown = std::min(options_.top, c_.kinds.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const KindTime& kind = c_.kinds[i];
      rows.push_back({shortened(kind.kind.name, 36), std::string(name(kind.kind.phase)),
                      counts_text(kind.tasks_a, kind.tasks_b)});
      add(rows.back(), kind.time);
    }
    title("kinds of task", c_.kinds.size() > shown
                               ? fmt::format(" (the {} of {} whose time changes most)", shown, c_.kinds.size())
                               : "");
    out_.add(table(rows, right));
    out_.line();
  }

  void lanes() {
    TableRow head{""};
    std::vector<bool> right{false};
    columns(head, right);
    TableRows rows{head};
    for (const LaneTime& lane : c_.lanes) {
      if (lane.busy.a.median == Seconds(0) && lane.busy.b.median == Seconds(0)) continue;
      rows.push_back({std::string(name(lane.lane))});
      add(rows.back(), lane.busy);
    }
    title("lanes, busy");
    out_.add(table(rows, right));
    out_.line();
  }

  void stages() {
    if (c_.stages.size() < 2) return;
    TableRow head{""};
    std::vector<bool> right{false};
    columns(head, right, "compute");
    columns(head, right, "peak");
    TableRows rows{head};
    for (const StageTime& stage : c_.stages) {
      rows.push_back({fmt::format("{}", stage.stage)});
      add(rows.back(), stage.compute);
      add(rows.back(), stage.peak);
    }
    title("pipeline stages");
    out_.add(table(rows, right));
    out_.line();
  }

  void memory() {
    if (c_.memory.total.a.steps == 0 && c_.memory.total.b.steps == 0) return;
    TableRow head{""};
    std::vector<bool> right{false};
    columns(head, right);
    TableRows rows{head};
    for (std::size_t i = 0; i < c_.memory.classes.size(); ++i) {
      const Compared<Bytes>& size = c_.memory.classes[i];
      if (size.a.median == Bytes(0) && size.b.median == Bytes(0)) continue;
      rows.push_back({std::string(name(static_cast<BufferClass>(i)))});
      add(rows.back(), size);
    }
    rows.push_back({"peak"});
    add(rows.back(), c_.memory.total);
    if (c_.memory.resident.a.steps > 0 || c_.memory.resident.b.steps > 0) {
      rows.push_back({"process, resident"});
      add(rows.back(), c_.memory.resident);
    }
    title("memory", " of the rank that holds most, at its peak");
    out_.add(table(rows, right));
    out_.line();
  }

  void losses() {
    const LossComparison& losses = c_.losses;
    if (losses.steps == 0) return;
    const std::string steps =
        fmt::format("  {} {} in both: ", losses.steps, losses.steps == 1 ? "step" : "steps");
    title("losses", steps + (losses.equal ? "equal bit for bit"
                                          : fmt::format("they differ by up to {:.3g}, from step {} on",
                                                        losses.largest, losses.first_step)));
    out_.line();
  }

  void tasks() {
    const std::size_t only_a = missing(c_.only_a), only_b = missing(c_.only_b);
    title("tasks", fmt::format("  {} in both, {} in A alone, {} in B alone", grouped(c_.tasks.size()),
                               grouped(only_a), grouped(only_b)));
    missing_kinds("A alone", c_.only_a);
    missing_kinds("B alone", c_.only_b);
    out_.line();
  }
  static std::size_t missing(const std::vector<MissingKind>& kinds) {
    std::size_t tasks = 0;
    for (const MissingKind& kind : kinds) tasks += kind.tasks;
    return tasks;
  }
  void missing_kinds(const char* where, const std::vector<MissingKind>& kinds) {
    if (kinds.empty()) return;
    TableRows rows{{where, "", "lane", "tasks", "ranks"}};
    // Of different plans most tasks have no counterpart; a few kinds show which.
    const std::size_t most = c_.same.plan ? options_.top : std::min<std::size_t>(options_.top, 4);
    const std::size_t shown = std::min(most, kinds.size());
    for (std::size_t i = 0; i < shown; ++i)
      rows.push_back({shortened(kinds[i].kind.name, 44), std::string(name(kinds[i].kind.phase)),
                      std::string(name(kinds[i].kind.lane)), grouped(kinds[i].tasks), grouped(kinds[i].ranks)});
    out_.add(table(rows, {false, false, false, true, true}));
    if (shown < kinds.size()) out_.line(fmt::format("  and {} kinds more", kinds.size() - shown));
  }

  const Comparison& c_;
  const ComparisonTextOptions& options_;
  Output& out_;
  const bool sampled_;
  bool marked_ = false;
};

}  // namespace

void write_comparison(const Comparison& comparison, const ComparisonTextOptions& options, Output& out) {
  Writer(comparison, options, out).run();
}

}  // namespace tandem
