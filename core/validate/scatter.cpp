// Measured against predicted step times as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/validate/validation_report.h"

namespace tandem {
namespace {

constexpr double side = 640, left = 70, top = 20, legend = 190;
constexpr std::array<const char*, 10> colours = {"#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951",
                                                 "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string scatter_svg(const ValidationReport& report) {
  double low = 1e300, high = 0;
  for (const RowResult& result : report.rows)
    if (const auto pair = result.seconds()) {
      low = std::min({low, pair->predicted, pair->measured});
      high = std::max({high, pair->predicted, pair->measured});
    }
  if (high == 0) low = high = 1;
  const double from = std::floor(std::log10(low) - 1e-9),
               to = std::max(from + 1, std::ceil(std::log10(high) + 1e-9));
  const auto place = [&](double seconds) { return (std::log10(seconds) - from) / (to - from) * side; };

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      left + side + legend, top + side + 50);
  for (double decade = from; decade <= to; ++decade) {
    const double at = place(std::pow(10, decade));
    out += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {4:.1f}H{5:.1f}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{0:.1f}\" y=\"{6:.1f}\" text-anchor=\"middle\">{7:g} s</text>\n"
        "<text x=\"{8:.1f}\" y=\"{9:.1f}\" text-anchor=\"end\">{7:g} s</text>\n",
        left + at, top, top + side, left, top + side - at, left + side, top + side + 18, std::pow(10, decade),
        left - 6, top + side - at + 4);
  }
  // Equality, and 10 per cent to both sides.
  for (const double factor : {1.0, 1.1, 1 / 1.1}) {
    const double shift = std::log10(factor) / (to - from) * side;
    const double begin = std::max(0.0, -shift), end = std::min(side, side - shift);
    out += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#888\"{}/>\n", left + begin,
                       top + side - begin - shift, left + end, top + side - end - shift,
                       factor == 1 ? "" : " stroke-dasharray=\"4 4\"");
  }
  std::size_t number = 0;
  for (const SetReport& set : report.sets) {
    if (set.time.rows == 0) continue;
    const char* colour = colours[number % colours.size()];
    out += fmt::format("<g fill=\"{}\" fill-opacity=\"0.6\">\n", colour);
    for (const RowResult& result : report.rows) {
      if (result.row.set != set.set) continue;
      if (const auto pair = result.seconds())
        out +=
            fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"><title>{} {:+.1f} %</title></circle>\n",
                        left + place(pair->measured), top + side - place(pair->predicted),
                        escaped(result.row.id), 100 * pair->deviation());
    }
    const double y = top + 14 + 16 * static_cast<double>(number);
    out += fmt::format(
        "</g>\n<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{} "
        "{:.1f} "
        "%</text>\n",
        left + side + 16, y - 4, colour, left + side + 26, y, escaped(set.set), 100 * set.time.median_abs);
    ++number;
  }
  out += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">measured step time</text>\n"
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">predicted step "
      "time</text>\n</svg>\n",
      left + side / 2, top + side + 40, top + side / 2);
  return out;
}

}  // namespace tandem
