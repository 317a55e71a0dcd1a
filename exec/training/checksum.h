// XXH64 (the xxHash specification, 64 bits, seed 0) of data that arrive in pieces.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem {

class Checksum {
 public:
  // All pieces but the last are multiples of 32 bytes.
  void add(std::span<const std::byte>);
  std::uint64_t value() const;

 private:
  static constexpr std::uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9,
                                 p4 = 0x85EBCA77C2B2AE63, p5 = 0x27D4EB2F165667C5;
  static std::uint64_t round(std::uint64_t lane, std::uint64_t input);

  std::array<std::uint64_t, 4> lanes_ = {p1 + p2, p2, 0, 0 - p1};
  std::array<std::byte, 32> tail_{};
  std::size_t tail_size_ = 0;
  std::uint64_t size_ = 0;
};

std::uint64_t checksum(std::span<const std::byte>);

}  // namespace tandem
