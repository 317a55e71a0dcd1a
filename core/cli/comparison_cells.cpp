// Numbers as they stand in tables.
#include "core/cli/comparison_cells.h"

#include <cmath>

#include "core/compare/explanation.h"

namespace tandem {
namespace {

constexpr double rounding = 1e-9;  // of sums in another order

}  // namespace

std::string share_text(const Sampled<double>& share) { return fmt::format("{:.1f} %", 100 * share.median); }

std::string grouped(std::size_t count) { return text_grouped(static_cast<std::int64_t>(count)); }

std::string counts_text(double tasks_a, double tasks_b) {
  const std::string a = count_text(tasks_a), b = count_text(tasks_b);
  return a == b ? a : a + " | " + b;
}

std::string shortened(const std::string& text, std::size_t width) {
  std::size_t cells = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) continue;  // inside a character
    if (++cells == width && text.size() > at + 1) return text.substr(0, at) + "…";
  }
  return text;
}

std::string ratio_text(double deviation) {
  const double percent = 100 * deviation;
  if (std::fabs(deviation) < rounding) return "0 %";
  if (std::fabs(percent) < 0.05) return percent > 0 ? "+0.0 %" : "-0.0 %";
  return std::fabs(percent) < 999.95 ? fmt::format("{:+.1f} %", percent)
                                     : "+" + text_grouped(std::llround(percent)) + " %";
}

}  // namespace tandem
