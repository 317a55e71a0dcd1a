// XXH64 against values of its reference implementation.
#include "exec/training/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

std::uint64_t checksum_of(std::string_view text) { return checksum(std::as_bytes(std::span(text))); }

TEST(Checksum, IsXxh64) {
  EXPECT_EQ(checksum_of(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(checksum_of("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(checksum_of("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(checksum_of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(Checksum, OfPiecesIsThatOfTheWhole) {
  const std::string text(1000, 'x');
  const auto bytes = std::as_bytes(std::span(text));
  Checksum sum;
  sum.add(bytes.first(320));
  sum.add(bytes.subspan(320, 64));
  sum.add(bytes.subspan(384));
  EXPECT_EQ(sum.value(), checksum(bytes));
}

}  // namespace
}  // namespace tandem
