// Lines to standard error.
#include "exec/run/step_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include "core/units/text.h"

namespace tandem {
namespace {

void say(const std::string& words) {
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, words.data(), words.size());
}

std::string time_left(Seconds left) {
  if (left.value >= 5400) return fmt::format("{:.1f} h left", left.value / 3600);
  if (left.value >= 90) return fmt::format("{:.0f} min left", left.value / 60);
  return fmt::format("{:.0f} s left", left.value);
}

}  // namespace

std::string text(const StepLine& line) {
  std::string words = fmt::format("step {}/{}  loss {:.4f}", line.step, line.steps, line.loss);
  if (line.floor) words += fmt::format(" (floor {:.4f})", *line.floor);
  words += fmt::format("  {} tokens/s", text_count(line.tokens / line.duration.value));
  if (line.mfu) words += fmt::format("  MFU {:.1f} %", 100 * *line.mfu);
  words += fmt::format("  {}  {}", text(line.duration), text(line.memory));
  if (line.left.value > 0) words += "  " + time_left(line.left);
  return words;
}

void StepLines::show(const StepLine& line) {
  if (!shown_) return;
  static constexpr std::string_view erase = "\x1b[K";
  say(terminal_ ? fmt::format("\r{}{}", text(line), erase) : text(line) + "\n");
  open_ = terminal_;
}

void StepLines::end() {
  if (open_) say("\n");
  open_ = false;
}

}  // namespace tandem
