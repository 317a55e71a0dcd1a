// Units as people write them: reading "450 GB/s", printing 1.234 ms.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/units/quantity.h"

namespace tandem {

// Each reads a number followed by a unit ("450 GB/s", "80 GiB", "5 us", "989 TFLOP/s", "700 W").
// Decimal (kB MB GB TB PB) and binary (KiB MiB GiB TiB) prefixes differ; bits are accepted only as rates ("400
// Gb/s"). A bare number, an unknown unit, a negative or non-finite number or trailing text gives nullopt.
std::optional<Bytes> parse_bytes(std::string_view text);
std::optional<Bandwidth> parse_bandwidth(std::string_view text);
std::optional<Seconds> parse_seconds(std::string_view text);
std::optional<ComputeRate> parse_compute_rate(std::string_view text);
std::optional<Power> parse_power(std::string_view text);

// Short forms with three to four significant digits and a unit that fits the size: "13.7 s", "412 us", "71.3
// GiB".
std::string text(Seconds);
std::string text(Bytes);
std::string text(Flops);
std::string text(Bandwidth);
std::string text(ComputeRate);
std::string text(Power);
std::string text(Energy);
// 405853388800 -> "405.9 B"; for counts of parameters and tokens.
std::string text_count(double count);
// 1234567 -> "1,234,567".
std::string text_grouped(std::int64_t number);

}  // namespace tandem
