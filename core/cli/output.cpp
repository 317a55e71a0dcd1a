// Writing to standard output so that nothing is lost silently, and what makes text easy to read.
#include "core/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "core/problem/problem.h"

namespace tandem {

std::string Output::styled(std::string_view text, Style style) const {
  if (!coloured_ || style == Style::Plain) return std::string(text);
  static constexpr std::string_view codes[] = {"", "1", "2", "1;32", "1;31", "1;36"};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(style)], text);
}

void Output::flush() {
  std::size_t at = 0;
  while (at < text_.size()) {
    const ssize_t written = ::write(STDOUT_FILENO, text_.data() + at, text_.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw BackendError(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
    at += static_cast<std::size_t>(written);
  }
  text_.clear();
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string blanks(width > used ? width - used : 0, ' ');
  return right ? blanks + std::string(text) : std::string(text) + blanks;
}

std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right,
                  std::string_view indent) {
  std::vector<std::size_t> widths(right.size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += i < widths.size() ? padded(row[i], widths[i], right[i]) : row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string bar(double share, std::size_t width) {
  static constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  // A damaged record may hold what is no number.
  const double cells = share > 0 ? std::min(share, 1.0) * static_cast<double>(width) : 0;
  const auto parts = static_cast<std::size_t>(std::lround(cells * 8));
  std::string out;
  for (std::size_t i = 0; i < parts / 8; ++i) out += "█";
  out += eighths[parts % 8];
  return out;
}

void Progress::show(std::string_view what, double share) {
  if (!shown_) return;
  const int percent = static_cast<int>(std::clamp(share, 0.0, 1.0) * 100);
  if (visible_ && percent == last_percent_) return;
  last_percent_ = percent;
  visible_ = true;
  const std::string line = fmt::format("\r{} {:3} %", what, percent);
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

void Progress::clear() {
  if (!visible_) return;
  static constexpr std::string_view erase = "\r\x1b[K";
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, erase.data(), erase.size());
  visible_ = false;
}

}  // namespace tandem
