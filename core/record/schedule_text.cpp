// Cells of time by stage, each with the letter that fills most of it.
#include "core/record/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/record/activity.h"
#include "core/record/breakdown.h"
#include "core/record/waiting.h"
#include "core/units/text.h"

namespace tandem {
namespace {

constexpr std::string_view letters = "FBWRUtcedpoi";  // by Activity, up to Input
constexpr std::array<std::string_view, 12> meanings = {
    "forward", "backward", "weight gradient", "recompute", "update", "tp", "cp", "ep", "dp", "pp",
    "copy",    "input"};
constexpr std::size_t computations = 5;

struct Cell {
  std::array<double, letters.size()> by_letter{};  // share of the cell
  std::map<std::uint32_t, double> by_microbatch;   // of its computation

  char letter(bool communication) const {
    const auto longest = [&](std::size_t from, std::size_t to) {
      return static_cast<std::size_t>(std::max_element(by_letter.begin() + from, by_letter.begin() + to) -
                                      by_letter.begin());
    };
    double computed = 0;
    for (std::size_t i = 0; i < computations; ++i) computed += by_letter[i];
    if (computed >= 0.5) return letters[longest(0, computations)];
    const std::size_t moved = longest(computations, letters.size());
    // Parallel lanes add up; a cell that moves data for less than half of its time counts as idle.
    return communication && by_letter[moved] >= 0.5 ? letters[moved] : '.';
  }
  char microbatch() const {
    const auto longest = std::max_element(by_microbatch.begin(), by_microbatch.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    if (longest == by_microbatch.end() || longest->first == no_microbatch) return ' ';
    return static_cast<char>('0' + longest->first % 10);
  }
};

class Row {
 public:
  Row(std::size_t width, Seconds start, Seconds end)
      : cells_(width), start_(start), cell_((end - start) / static_cast<double>(width)) {}

  void add(const RunRecord& record, const RecordSpan& span) {
    const auto what = static_cast<std::size_t>(activity(record, span));
    if (what >= letters.size() || !(cell_ > Seconds(0))) return;
    const double from = std::max(0.0, (span.start - start_) / cell_);
    const double to = std::min(static_cast<double>(cells_.size()), (span.end - start_) / cell_);
    for (double at = from; at < to;) {
      const auto index = static_cast<std::size_t>(at);
      const double next = std::min(to, std::floor(at) + 1);
      if (index >= cells_.size()) break;
      cells_[index].by_letter[what] += next - at;
      if (what < computations) cells_[index].by_microbatch[record.tasks[span.task].microbatch] += next - at;
      at = next;
    }
  }
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  std::vector<Cell> cells_;
  Seconds start_, cell_;
};

}  // namespace

std::string schedule_text(const RunRecord& record, const ScheduleTextOptions& options) {
  const std::size_t width = std::clamp<std::size_t>(options.width, 1, 10'000);
  const Waiting waiting(record);
  const RecordWindow measured = window(record);
  const Seconds start = options.start.value_or(measured.start),
                end = std::max(options.end.value_or(measured.end), start);
  const StepBreakdown shares = breakdown(record);
  std::map<std::uint32_t, std::uint32_t> rank_of_stage;  // stage -> index of its first recorded rank
  for (std::uint32_t i = 0; i < waiting.ranks().size(); ++i)
    rank_of_stage.try_emplace(waiting.ranks()[i].stage, i);

  std::string lines = fmt::format("{} to {}, {} a cell\n", text(start), text(end),
                                  text((end - start) / static_cast<double>(width)));
  std::string used;
  for (const auto& [stage, rank] : rank_of_stage) {
    Row row(width, start, end);
    for (const std::uint32_t lane : waiting.ranks()[rank].lanes)
      for (const std::uint32_t span : waiting.spans_of_lane(lane)) row.add(record, record.spans[span]);
    std::string what, which;
    for (const Cell& cell : row.cells()) {
      what += cell.letter(options.communication);
      which +=
          letters.substr(0, computations).find(what.back()) != std::string_view::npos ? cell.microbatch() : ' ';
    }
    used += what;
    lines += fmt::format("stage {:<3} |{}| bubble {:.1f} %\n{:<9} |{}|\n", stage, what,
                         100 * shares.ranks[rank].breakdown.bubble_fraction(), "", which);
  }
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (used.find(letters[i]) != std::string::npos) lines += fmt::format("{} {}, ", letters[i], meanings[i]);
  return lines + ". idle; below: last digit of the microbatch\n";
}

}  // namespace tandem
