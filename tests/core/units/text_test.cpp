// Units are read and printed as people write them.
#include "core/units/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/units/dtype.h"

namespace tandem {
namespace {

TEST(UnitsReading, DecimalAndBinaryPrefixesDiffer) {
  EXPECT_EQ(parse_bytes("80 GB"), Bytes(80e9));
  EXPECT_EQ(parse_bytes("80 GiB"), Bytes(80 * 1073741824.0));
  EXPECT_EQ(parse_bytes("1.5KiB"), Bytes(1536));
}
TEST(UnitsReading, BitsAreOnlyRates) {
  EXPECT_EQ(parse_bandwidth("400 Gb/s"), Bandwidth(50e9));
  EXPECT_EQ(parse_bandwidth("50 GB/s"), Bandwidth(50e9));
  EXPECT_EQ(parse_bandwidth("2 GiB/s"), Bandwidth(2 * 1073741824.0));
  EXPECT_EQ(parse_bytes("400 Gb"), std::nullopt);
}
TEST(UnitsReading, TimesRunFromNanosecondsToDays) {
  EXPECT_EQ(parse_seconds("5 us"), Seconds(5e-6));
  EXPECT_EQ(parse_seconds("5 µs"), Seconds(5e-6));
  EXPECT_EQ(parse_seconds("12 ns"), Seconds(12e-9));
  EXPECT_EQ(parse_seconds("3 ms"), Seconds(3e-3));
  EXPECT_EQ(parse_seconds("2 min"), Seconds(120));
  EXPECT_EQ(parse_seconds("2 h"), Seconds(7200));
  EXPECT_EQ(parse_seconds("1 d"), Seconds(86400));
}
TEST(UnitsReading, ComputeRatesHaveTwoSpellings) {
  EXPECT_EQ(parse_compute_rate("989 TFLOP/s"), ComputeRate(989e12));
  EXPECT_EQ(parse_compute_rate("989TFLOPS"), ComputeRate(989e12));
  EXPECT_EQ(parse_compute_rate("1.5 PFLOP/s"), ComputeRate(1.5e15));
}
TEST(UnitsReading, PowersAreInWatts) {
  EXPECT_EQ(parse_power("700 W"), Power(700));
  EXPECT_EQ(parse_power("1.2 kW"), Power(1200));
}
TEST(UnitsReading, WhatIsNotAQuantityIsRefused) {
  for (const char* bad :
       {"", " ", "450", "GB/s", "450 gb/s", "450 GB", "450 GB/s x", "inf GB/s", "nan GB/s", "1e999 GB/s",
        "1e308 GB/s", "-1 GB/s", "-0 GB/s", "+1 GB/s", "0x10 GB/s", "1,5 GB/s", "4 5 GB/s", "450 GB/s\n"}) {
    EXPECT_EQ(parse_bandwidth(bad), std::nullopt) << bad;
  }
}

TEST(UnitsPrinting, TheUnitFitsTheSize) {
  EXPECT_EQ(text(Seconds(13.7)), "13.7 s");
  EXPECT_EQ(text(Seconds(412e-6)), "412 us");
  EXPECT_EQ(text(Seconds(1.2344e-3)), "1.234 ms");
  EXPECT_EQ(text(Seconds(900)), "15 min");
  EXPECT_EQ(text(Seconds(36000)), "10 h");
  EXPECT_EQ(text(Seconds(864000)), "10 d");
  EXPECT_EQ(text(Bytes(71.3 * 1073741824)), "71.3 GiB");
  EXPECT_EQ(text(Bytes(12)), "12 B");
  EXPECT_EQ(text(Flops(2.5e15)), "2.5 PFLOP");
  EXPECT_EQ(text(Bandwidth(450e9)), "450 GB/s");
  EXPECT_EQ(text(ComputeRate(989e12)), "989 TFLOP/s");
  EXPECT_EQ(text(Power(10200)), "10.2 kW");
  EXPECT_EQ(text(Energy(3.6e6)), "3.6 MJ");
}
TEST(UnitsPrinting, RoundingMovesToTheNextUnit) {
  EXPECT_EQ(text(Seconds(999.7e-6)), "1 ms");
  EXPECT_EQ(text(Seconds(99.96e-3)), "100 ms");
  EXPECT_EQ(text(Seconds(9.99999e-3)), "10 ms");
}
TEST(UnitsPrinting, NothingAndInfinityAreNamed) {
  EXPECT_EQ(text(Seconds(0)), "0 s");
  EXPECT_EQ(text(Seconds(-0.25)), "-250 ms");
  EXPECT_EQ(text(Bytes(std::numeric_limits<double>::infinity())), "inf B");
  EXPECT_EQ(text(Seconds(1e-15)), "1e-06 ns");
}
TEST(UnitsPrinting, CountsAreShortOrGrouped) {
  EXPECT_EQ(text_count(405853388800), "405.9 B");
  EXPECT_EQ(text_count(124439808), "124.4 M");
  EXPECT_EQ(text_count(12), "12");
  EXPECT_EQ(text_grouped(1234567), "1,234,567");
  EXPECT_EQ(text_grouped(-123456), "-123,456");
  EXPECT_EQ(text_grouped(999), "999");
  EXPECT_EQ(text_grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(NumberFormats, HuggingFaceNamesAreKnown) {
  EXPECT_EQ(parse_dtype("bfloat16"), DType::Bf16);
  EXPECT_EQ(parse_dtype("torch.float16"), DType::Fp16);
  EXPECT_EQ(parse_dtype("float8_e4m3fn"), DType::Fp8);
  EXPECT_EQ(parse_dtype("int8"), std::nullopt);
}

}  // namespace
}  // namespace tandem
