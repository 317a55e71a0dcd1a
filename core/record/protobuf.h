// Writes protocol buffers' wire format by hand: varints, fixed64 and length-delimited fields.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

class ProtobufMessage {
 public:
  ProtobufMessage& add(std::uint32_t field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
    return *this;
  }
  ProtobufMessage& add_fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xff);
    return *this;
  }
  ProtobufMessage& add(std::uint32_t field, double value) {
    return add_fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  ProtobufMessage& add(std::uint32_t field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  ProtobufMessage& add(std::uint32_t field, const ProtobufMessage& value) {
    return add(field, std::string_view(value.bytes_));
  }

  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

 private:
  void tag(std::uint32_t field, std::uint32_t wire_type) { varint(field << 3 | wire_type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

}  // namespace tandem
