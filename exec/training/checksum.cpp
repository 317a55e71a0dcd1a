// XXH64 as its specification writes it: four lanes over stripes of 32 bytes, then what is left.
#include "exec/training/checksum.h"

#include <bit>
#include <cstring>

#include "core/problem/problem.h"

namespace tandem {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

template <class Word>
std::uint64_t word(const std::byte* at) {
  Word value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

std::uint64_t Checksum::round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * p2, 31) * p1;
}

void Checksum::add(std::span<const std::byte> data) {
  check(tail_size_ == 0, "a checksum goes on after its last piece");
  size_ += data.size();
  std::array<std::uint64_t, 4> lanes = lanes_;
  for (; data.size() >= 32; data = data.subspan(32))
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = round(lanes[i], word<std::uint64_t>(data.data() + 8 * i));
  lanes_ = lanes;
  tail_size_ = data.size();
  if (tail_size_ > 0) std::memcpy(tail_.data(), data.data(), tail_size_);
}

std::uint64_t Checksum::value() const {
  std::uint64_t hash = p5;
  if (size_ >= 32) {
    hash =
        std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * p1 + p4;
  }
  hash += size_;
  const std::byte* at = tail_.data();
  std::size_t left = tail_size_;
  for (; left >= 8; left -= 8, at += 8)
    hash = std::rotl(hash ^ round(0, word<std::uint64_t>(at)), 27) * p1 + p4;
  for (; left >= 4; left -= 4, at += 4) hash = std::rotl(hash ^ (word<std::uint32_t>(at) * p1), 23) * p2 + p3;
  for (; left > 0; --left, ++at) hash = std::rotl(hash ^ (word<std::uint8_t>(at) * p5), 11) * p1;
  hash = (hash ^ (hash >> 33)) * p2;
  hash = (hash ^ (hash >> 29)) * p3;
  return hash ^ (hash >> 32);
}

std::uint64_t checksum(std::span<const std::byte> data) {
  Checksum sum;
  sum.add(data);
  return sum.value();
}

}  // namespace tandem
