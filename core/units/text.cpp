// Reads and prints quantities with units: one table of units a quantity serves both directions.
#include "core/units/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

namespace tandem {
namespace {

struct Unit {
  std::string_view name;
  double scale;  // base units in one of it
};

constexpr double kibi = 1024.0, mebi = kibi * 1024, gibi = mebi * 1024, tebi = gibi * 1024, pebi = tebi * 1024;

constexpr Unit seconds_units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3},
                                  {"s", 1},     {"min", 60},  {"h", 3600},  {"d", 86400}};
constexpr Unit bytes_units[] = {{"B", 1},      {"kB", 1e3},   {"MB", 1e6},   {"GB", 1e9},
                                {"TB", 1e12},  {"PB", 1e15},  {"KiB", kibi}, {"MiB", mebi},
                                {"GiB", gibi}, {"TiB", tebi}, {"PiB", pebi}};
constexpr Unit bandwidth_units[] = {{"B/s", 1},        {"kB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},
                                    {"TB/s", 1e12},    {"PB/s", 1e15},    {"KiB/s", kibi},   {"MiB/s", mebi},
                                    {"GiB/s", gibi},   {"TiB/s", tebi},   {"b/s", 1.0 / 8},  {"kb/s", 1e3 / 8},
                                    {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8}};
constexpr Unit compute_units[] = {{"FLOP/s", 1},     {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6},  {"GFLOP/s", 1e9},
                                  {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"EFLOP/s", 1e18}, {"FLOPS", 1},
                                  {"kFLOPS", 1e3},   {"MFLOPS", 1e6},   {"GFLOPS", 1e9},   {"TFLOPS", 1e12},
                                  {"PFLOPS", 1e15},  {"EFLOPS", 1e18}};
constexpr Unit power_units[] = {{"mW", 1e-3}, {"W", 1}, {"kW", 1e3}, {"MW", 1e6}};

// Units to print with, rising; a unit is left for the next one once the value reaches the next one's scale.
constexpr Unit seconds_print[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
constexpr Unit bytes_print[] = {{"B", 1},      {"KiB", kibi}, {"MiB", mebi},
                                {"GiB", gibi}, {"TiB", tebi}, {"PiB", pebi}};
constexpr Unit flops_print[] = {{"FLOP", 1},     {"kFLOP", 1e3},  {"MFLOP", 1e6},  {"GFLOP", 1e9},
                                {"TFLOP", 1e12}, {"PFLOP", 1e15}, {"EFLOP", 1e18}, {"ZFLOP", 1e21}};
constexpr Unit bandwidth_print[] = {{"B/s", 1},    {"kB/s", 1e3},  {"MB/s", 1e6},
                                    {"GB/s", 1e9}, {"TB/s", 1e12}, {"PB/s", 1e15}};
constexpr Unit compute_print[] = {{"FLOP/s", 1},     {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9},
                                  {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"EFLOP/s", 1e18}};
constexpr Unit power_print[] = {{"mW", 1e-3}, {"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {"GW", 1e9}};
constexpr Unit energy_print[] = {{"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"GJ", 1e9}, {"TJ", 1e12}};
constexpr Unit count_print[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

template <class Q>
std::optional<Q> parse(std::string_view text, std::span<const Unit> units) {
  text = trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || std::signbit(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  text = trimmed(text);
  for (const Unit& unit : units) {
    if (unit.name != text) continue;
    // 5 us is 5 / 1e6, rounded once: the same double as the literal 5e-6.
    const double value = unit.scale < 1 ? number / std::round(1 / unit.scale) : number * unit.scale;
    if (!std::isfinite(value)) return std::nullopt;
    return Q(value);
  }
  return std::nullopt;
}

// 1.234, 13.7, 412; zeros behind the point are dropped. `wide` keeps a decimal from a hundred on.
std::string short_number(double value, bool wide) {
  const double size = std::fabs(value);
  const int decimals = size < 9.9995 ? 3 : size < 99.95 || wide ? 1 : 0;
  std::string digits = fmt::format("{:.{}f}", value, decimals);
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return digits == "-0" ? "0" : digits;
}

std::string print(double value, std::span<const Unit> units, std::string_view base, bool wide = false) {
  if (!std::isfinite(value) || value == 0) return fmt::format("{}{}{}", value, base.empty() ? "" : " ", base);
  std::size_t i = 0;
  // 999.6 us prints as 1 ms, not as 1000 us: half of the last digit shown belongs to the next unit.
  const double size = std::fabs(value) * (wide ? 1.00005 : 1.0005);
  while (i + 1 < units.size() && size >= units[i + 1].scale) ++i;
  const double scaled = value / units[i].scale;
  if (std::fabs(scaled) < 0.001 || std::fabs(scaled) >= 1e7) {
    return fmt::format("{:.3g}{}{}", scaled, units[i].name.empty() ? "" : " ", units[i].name);
  }
  return fmt::format("{}{}{}", short_number(scaled, wide), units[i].name.empty() ? "" : " ", units[i].name);
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) { return parse<Bytes>(text, bytes_units); }
std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  return parse<Bandwidth>(text, bandwidth_units);
}
std::optional<Seconds> parse_seconds(std::string_view text) { return parse<Seconds>(text, seconds_units); }
std::optional<ComputeRate> parse_compute_rate(std::string_view text) {
  return parse<ComputeRate>(text, compute_units);
}
std::optional<Power> parse_power(std::string_view text) { return parse<Power>(text, power_units); }

std::string text(Seconds time) {
  const double size = std::fabs(time.value);
  // Long times are read in minutes, hours and days, from ten of them on.
  if (std::isfinite(size) && size >= 600) {
    if (size < 36000) return short_number(time.value / 60, false) + " min";
    if (size < 864000) return short_number(time.value / 3600, false) + " h";
    const double days = time.value / 86400;
    return (size < 86400e7 ? short_number(days, false) : fmt::format("{:.3g}", days)) + " d";
  }
  return print(time.value, seconds_print, "s");
}
std::string text(Bytes size) { return print(size.value, bytes_print, "B"); }
std::string text(Flops work) { return print(work.value, flops_print, "FLOP"); }
std::string text(Bandwidth rate) { return print(rate.value, bandwidth_print, "B/s"); }
std::string text(ComputeRate rate) { return print(rate.value, compute_print, "FLOP/s"); }
std::string text(Power power) { return print(power.value, power_print, "W"); }
std::string text(Energy energy) { return print(energy.value, energy_print, "J"); }
std::string text_count(double count) { return print(count, count_print, "", true); }

std::string text_grouped(std::int64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (left % 3 == 0 && !result.empty() && result != "-") result += ',';
    result += digits[i];
  }
  return result;
}

}  // namespace tandem
