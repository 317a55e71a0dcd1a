// Reads protocol buffers' wire format field by field, independently of the writer under test.
#pragma once
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::testing {

struct ProtobufField {
  std::uint64_t number = 0;  // varint and fixed fields
  std::string_view bytes;    // length-delimited fields
};

// Fields of one message by field number, in order.
inline std::multimap<std::uint32_t, ProtobufField> read_protobuf(std::string_view message) {
  std::size_t at = 0;
  const auto take = [&](std::size_t count) {
    if (message.size() - at < count) throw std::runtime_error("protobuf ends early");
    const std::string_view part = message.substr(at, count);
    at += count;
    return part;
  };
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("varint too long");
  };
  std::multimap<std::uint32_t, ProtobufField> fields;
  while (at < message.size()) {
    const std::uint64_t tag = varint();
    ProtobufField field;
    switch (tag & 7) {
      case 0:
        field.number = varint();
        break;
      case 1: {
        const std::string_view bytes = take(8);
        for (std::size_t i = 0; i < 8; ++i)
          field.number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
        break;
      }
      case 2:
        field.bytes = take(varint());
        break;
      default:
        throw std::runtime_error("unknown wire type");
    }
    fields.emplace(static_cast<std::uint32_t>(tag >> 3), field);
  }
  return fields;
}

}  // namespace tandem::testing
