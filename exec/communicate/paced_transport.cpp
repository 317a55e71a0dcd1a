// A message travels with a note that says when it may arrive; the receiver holds it back until then.
#include "exec/communicate/paced_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/units/text.h"
#include "exec/communicate/slots.h"

namespace tandem {
namespace {

struct PacedMessage {
  Request note, data;
  bool note_done = false, data_done = false, sent = false;
  Nanoseconds departure = 0;  // of the last byte, on the sender's side
  Nanoseconds arrival = 0;    // of the last byte: what the note says
};

template <class T>
auto bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

class PacedTransport final : public Transport {
 public:
  PacedTransport(std::unique_ptr<Transport> real, Pace pace)
      : real_(std::move(real)), pace_(pace), wire_free_(real_->ranks(), 0) {}
  std::uint32_t rank() const override { return real_->rank(); }
  std::uint32_t ranks() const override { return real_->ranks(); }

  Request send(std::uint32_t to, std::uint32_t tag, std::span<const std::byte> data) override {
    const Request request{open()};
    PacedMessage& message = messages_[request.index];
    message.sent = true;
    message.departure = std::max(wire_free_[to], now()) +
                        nanoseconds(Bytes(static_cast<double>(data.size())) / pace_.bandwidth);
    wire_free_[to] = message.departure;
    message.arrival = message.departure + nanoseconds(pace_.latency);
    message.note = real_->send(to, tag, bytes_of(message.arrival));
    message.data = real_->send(to, tag, data);
    return request;
  }
  Request receive(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data) override {
    const Request request = expect(from, tag);
    messages_[request.index].data = real_->receive(from, tag, data);
    return request;
  }
  Request receive_combine(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data, ElementType type,
                          Reduction reduction) override {
    const Request request = expect(from, tag);
    messages_[request.index].data = real_->receive_combine(from, tag, data, type, reduction);
    return request;
  }

  Advance test(Request request) override {
    PacedMessage& message = messages_[request.index];
    const bool moved = test(message.note, message.note_done) | test(message.data, message.data_done);
    if (!message.note_done || !message.data_done || now() < due(message))
      return moved ? Advance::Moved : Advance::Blocked;
    messages_.give_back(request.index);
    return Advance::Done;
  }

  Signal& signal() override { return real_->signal(); }
  Rest rest() override {
    Rest rest = real_->rest();
    bool all_held = !messages_.empty();
    messages_.for_each([&](const PacedMessage& message) {
      if (message.note_done && message.data_done)
        rest.until = std::min(rest.until, due(message));
      else
        all_held = false;
    });
    // Nothing that the real transport could do meanwhile.
    return all_held ? Rest{.until = rest.until} : rest;
  }
  void give_up(std::string_view reason) noexcept override { real_->give_up(reason); }

 private:
  static Nanoseconds nanoseconds(Seconds time) { return std::llround(time.value * 1e9); }
  static Nanoseconds due(const PacedMessage& message) {
    return message.sent ? message.departure : message.arrival;
  }

  std::uint32_t open() {
    const std::uint32_t index = messages_.take();
    messages_[index] = {};
    return index;
  }
  Request expect(std::uint32_t from, std::uint32_t tag) {
    const Request request{open()};
    PacedMessage& message = messages_[request.index];
    message.note = real_->receive(from, tag, bytes_of(message.arrival));
    return request;
  }
  // Whether it moved.
  bool test(Request request, bool& done) {
    if (done) return false;
    const Advance advance = real_->test(request);
    done = advance == Advance::Done;
    return advance != Advance::Blocked;
  }

  std::unique_ptr<Transport> real_;
  Pace pace_;
  std::vector<Nanoseconds> wire_free_;  // by receiver
  Slots<PacedMessage> messages_;
};

}  // namespace

std::optional<Pace> parse_pace(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto bandwidth = parse_bandwidth(text.substr(0, comma));
  const auto latency = parse_seconds(text.substr(comma + 1));
  if (!bandwidth || !latency || bandwidth->value <= 0) return std::nullopt;
  return Pace{*bandwidth, *latency};
}

std::string text(const Pace& pace) {
  return fmt::format("messages at {}, {} late", text(pace.bandwidth), text(pace.latency));
}

std::unique_ptr<Transport> paced(std::unique_ptr<Transport> real, Pace pace) {
  return std::make_unique<PacedTransport>(std::move(real), pace);
}

}  // namespace tandem
