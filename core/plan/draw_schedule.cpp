// Draws a played schedule in the most detailed of three scales that fits the width.
#include "core/plan/draw_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <vector>

#include "core/plan/timeline.h"
#include "core/problem/problem.h"

namespace tandem {
namespace {

// Every slot lasts a whole number of units.
struct Box {
  std::size_t start = 0, length = 0;
  const Slot* slot = nullptr;
};

// The boxes of a stage, with pairs put one after the other inside their common time.
std::vector<Box> boxes(const Schedule& schedule, const Timeline& timeline, std::uint32_t stage) {
  const std::vector<Slot>& order = schedule.slots[stage];
  std::vector<Box> all;
  bool second_of_pair = false;
  for (std::size_t index = 0; index < order.size(); ++index) {
    const auto length = static_cast<std::size_t>(duration(order[index].phase, {}));
    const auto start = static_cast<std::size_t>(timeline.slots[stage][index].start);
    all.push_back({second_of_pair ? all.back().start + all.back().length : start, length, &order[index]});
    second_of_pair = order[index].paired_with_next;
  }
  return all;
}

std::string label(const Slot& slot) {
  char letter = 'F';
  if (slot.phase == SlotPhase::Backward) letter = 'B';
  if (slot.phase == SlotPhase::InputGradient) letter = 'I';
  if (slot.phase == SlotPhase::WeightGradient) letter = 'W';
  if (slot.chunk % 2 == 1) letter = static_cast<char>(std::tolower(letter));
  return fmt::format("{}{}", letter, slot.microbatch);
}

void draw_labels(const std::vector<Box>& boxes, std::size_t columns_a_unit, std::size_t gap, std::string& row) {
  for (const Box& box : boxes) {
    const std::string name = label(*box.slot);
    const std::size_t first = box.start * columns_a_unit, length = box.length * columns_a_unit - gap;
    std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(first), length, box.length > 1 ? '-' : ' ');
    if (gap > 0) row[first + length] = ' ';
    row.replace(first, name.size(), name);
  }
}

void draw_units(const std::vector<Box>& boxes, std::string& row) {
  for (const Box& box : boxes) {
    const auto digit = static_cast<char>(box.slot->microbatch % 10);
    char mark = static_cast<char>('a' + digit);
    if (box.slot->phase == SlotPhase::Forward) mark = static_cast<char>('0' + digit);
    if (box.slot->phase == SlotPhase::WeightGradient) mark = '+';
    std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(box.start), box.length, mark);
  }
}

void draw_shares(const std::vector<Box>& boxes, double units_a_column, std::string& row) {
  constexpr std::string_view kMarks = "FBW.";
  constexpr double kMixedShare = 0.2;  // of a column, from which both phases are worth showing
  std::vector<std::array<double, 4>> share(row.size());
  for (const Box& box : boxes) {
    std::size_t kind = 1;
    if (box.slot->phase == SlotPhase::Forward) kind = 0;
    if (box.slot->phase == SlotPhase::WeightGradient) kind = 2;
    double begin = static_cast<double>(box.start);
    const double end = begin + static_cast<double>(box.length);
    for (auto column = static_cast<std::size_t>(begin / units_a_column); column < row.size() && begin < end;
         ++column) {
      const double until = std::min(end, static_cast<double>(column + 1) * units_a_column);
      share[column][kind] += std::max(0.0, until - begin);
      begin = std::max(begin, until);
    }
  }
  for (std::size_t column = 0; column < row.size(); ++column) {
    std::array<double, 4>& of = share[column];
    of[3] = units_a_column - of[0] - of[1] - of[2];
    const auto most = static_cast<std::size_t>(std::max_element(of.begin(), of.end()) - of.begin());
    const bool mixed = std::min(of[0], of[1]) > kMixedShare * units_a_column && most != 3;
    row[column] = mixed ? 'x' : kMarks[most];
  }
}

// How the time axis is drawn.
struct Scale {
  std::size_t columns_a_unit = 0, gap = 0;  // labels; 0: no labels
  double units_a_column = 1;
};

Scale choose_scale(const Schedule& schedule, std::size_t span, std::size_t columns) {
  const std::size_t label_columns = 1 + fmt::format("{}", schedule.microbatches - 1).size();
  for (std::size_t gap : {1, 0})
    if (span * (label_columns + gap) <= columns) return {.columns_a_unit = label_columns + gap, .gap = gap};
  if (span <= columns) return {};
  return {.units_a_column = static_cast<double>(span) / static_cast<double>(columns)};
}

// Legend entries, as many a line as fit.
std::string legend(const Schedule& schedule, const Scale& scale, std::size_t width) {
  const std::vector<Slot>& order = schedule.slots.front();
  const bool split = std::any_of(order.begin(), order.end(),
                                 [](const Slot& slot) { return slot.phase == SlotPhase::InputGradient; });
  std::vector<std::string> entries;
  if (scale.columns_a_unit > 0) {
    entries = {"F forward", "B backward"};
    if (split) entries.insert(entries.end(), {"I input gradient", "W weight gradient"});
    if (schedule.chunks_per_stage > 1) entries.push_back("lower case: odd chunks of a stage");
  } else if (scale.units_a_column <= 1) {
    entries = {"0-9 forward, a-j backward, by last digit of the microbatch"};
    if (split) entries.push_back("+ weight gradient");
  } else {
    entries = {"F forward", split ? "B backward or input gradient" : "B backward"};
    if (split) entries.push_back("W weight gradient");
    entries.insert(entries.end(),
                   {"x forward and backward", fmt::format("{:.3g} units a column", scale.units_a_column)});
  }
  entries.push_back(". idle");
  std::string all;
  std::size_t used = 0;
  for (const std::string& entry : entries) {
    const bool fits = used > 0 && used + 2 + entry.size() <= width;
    if (used > 0) all += fits ? "; " : "\n";
    used = entry.size() + (fits ? used + 2 : 0);
    all += entry;
  }
  return all + '\n';
}

}  // namespace

std::string draw(const Schedule& schedule, std::size_t width, std::size_t rows) {
  const Timeline timeline = play(schedule);
  check(timeline.deadlock.empty(), timeline.deadlock);
  const auto span = static_cast<std::size_t>(timeline.span);
  const std::size_t name_columns = fmt::format("stage {} ", schedule.stages - 1).size();
  const std::size_t columns = width > name_columns ? width - name_columns : 1;
  const Scale scale = choose_scale(schedule, span, columns);
  std::string all;
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
    const std::size_t left_out = schedule.stages > rows ? schedule.stages - rows : 0;
    if (left_out > 0 && stage == rows / 2) {
      all += fmt::format("... {} stages ...\n", left_out);
      stage += static_cast<std::uint32_t>(left_out);
      if (stage >= schedule.stages) break;
    }
    const std::vector<Box> of_stage = boxes(schedule, timeline, stage);
    std::string row;
    if (scale.columns_a_unit > 0) {
      row.assign(span * scale.columns_a_unit, '.');
      draw_labels(of_stage, scale.columns_a_unit, scale.gap, row);
    } else if (scale.units_a_column <= 1) {
      row.assign(span, '.');
      draw_units(of_stage, row);
    } else {
      row.assign(columns, '.');
      draw_shares(of_stage, scale.units_a_column, row);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    all += fmt::format("{:<{}}{}\n", fmt::format("stage {}", stage), name_columns, row);
  }
  return all + legend(schedule, scale, width);
}

}  // namespace tandem
