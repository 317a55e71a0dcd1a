// Carries a list of messages out: each starts as soon as those before it leave its bytes alone.
#include "exec/communicate/operation.h"

#include <algorithm>
#include <cstring>

#include "core/problem/problem.h"
#include "exec/communicate/message_list.h"

namespace tandem {
namespace {

// Bytes of local copying and scaling at a time, so that other lanes get their turn.
constexpr std::size_t bite = std::size_t{512} << 10;

bool in_conflict(const Message& a, const Message& b) {
  if (a.kind == Message::Kind::Send && b.kind == Message::Kind::Send) return false;
  return a.data < b.data + b.bytes && b.data < a.data + a.bytes;
}

class MessageRun : public Operation {
 public:
  MessageRun(Transport& transport, std::uint32_t tag, ElementType type, Reduction reduction)
      : transport_(transport), tag_(tag), type_(type), reduction_(reduction) {}
  MessageRun(Transport& transport, std::uint32_t tag, Message message)
      : MessageRun(transport, tag, ElementType::Byte, Reduction::Sum) {
    list_.messages.push_back(message);
  }
  MessageRun(Transport& transport, const CollectiveCall& call)
      : MessageRun(transport, call.members.tag, call.type, call.reduction) {
    list_ = messages_of(call);
  }

  void start() override {
    check(open_.empty(), "an operation starts again before it is done");
    next_ = copied_ = scaled_ = 0;
  }

  Advance advance() override {
    bool moved = test_open();
    while (start_next()) moved = true;
    if (open_.empty() && next_ == list_.messages.size()) {
      if (end_with_bites()) return Advance::Done;
      moved = true;
    }
    return moved ? Advance::Moved : Advance::Blocked;
  }

 protected:
  void set_list(MessageList list) { list_ = std::move(list); }

 private:
  struct Open {
    Request request;
    std::size_t message;
  };

  // Whether one moved; those that are done are taken out, the others keep their order.
  bool test_open() {
    bool moved = false;
    std::size_t kept = 0;
    for (const Open& open : open_) {
      const Advance advance = transport_.test(open.request);
      moved |= advance != Advance::Blocked;
      if (advance != Advance::Done) open_[kept++] = open;
    }
    open_.resize(kept);
    return moved;
  }

  bool start_next() {
    if (next_ == list_.messages.size()) return false;
    const Message& m = list_.messages[next_];
    const auto blocks = [&](const Open& open) { return in_conflict(list_.messages[open.message], m); };
    if (std::any_of(open_.begin(), open_.end(), blocks)) return false;
    open_.push_back({begin(m), next_++});
    return true;
  }

  Request begin(const Message& m) {
    switch (m.kind) {
      case Message::Kind::Send:
        return transport_.send(m.peer, tag_, {m.data, m.bytes});
      case Message::Kind::Receive:
        return transport_.receive(m.peer, tag_, {m.data, m.bytes});
      case Message::Kind::Combine:
        break;
    }
    return transport_.receive_combine(m.peer, tag_, {m.data, m.bytes}, type_, reduction_);
  }

  // True: nothing is left.
  bool end_with_bites() {
    if (const auto& copy = list_.copy; copied_ < copy.bytes) {
      const std::size_t bytes = std::min(bite, copy.bytes - copied_);
      std::memcpy(copy.to + copied_, copy.from + copied_, bytes);
      copied_ += bytes;
    } else if (const auto& scaled = list_.scaled; scaled_ < scaled.bytes) {
      const std::size_t bytes = std::min(bite, scaled.bytes - scaled_);
      scale(type_, scaled.data + scaled_, bytes, scaled.factor);
      scaled_ += bytes;
    }
    return copied_ == list_.copy.bytes && scaled_ == list_.scaled.bytes;
  }

  Transport& transport_;
  std::uint32_t tag_;
  ElementType type_;
  Reduction reduction_;
  MessageList list_;
  std::vector<Open> open_;
  std::size_t next_ = 0, copied_ = 0, scaled_ = 0;
};

class AllToAllVRun final : public MessageRun {
 public:
  AllToAllVRun(Transport& transport, const AllToAllVCall& call)
      : MessageRun(transport, call.members.tag, ElementType::Byte, Reduction::Sum), call_(call) {}
  void start() override {
    set_list(messages_of(call_));
    MessageRun::start();
  }

 private:
  AllToAllVCall call_;
};

struct Maker {
  Transport& transport;
  std::unique_ptr<Operation> operator()(const CollectiveCall& call) const {
    return std::make_unique<MessageRun>(transport, call);
  }
  std::unique_ptr<Operation> operator()(const AllToAllVCall& call) const {
    return std::make_unique<AllToAllVRun>(transport, call);
  }
  std::unique_ptr<Operation> operator()(const SendCall& call) const {
    return message(call.tag,
                   {Message::Kind::Send, call.to, const_cast<std::byte*>(call.data.data()), call.data.size()});
  }
  std::unique_ptr<Operation> operator()(const ReceiveCall& call) const {
    return message(call.tag, {Message::Kind::Receive, call.from, call.data.data(), call.data.size()});
  }
  std::unique_ptr<Operation> message(std::uint32_t tag, Message m) const {
    return std::make_unique<MessageRun>(transport, tag, m);
  }
};

}  // namespace

std::unique_ptr<Operation> make_operation(const CommunicationCall& call, Transport& transport) {
  return std::visit(Maker{transport}, call);
}

void complete(Transport& transport, Operation& operation) {
  operation.start();
  for (;;) {
    const std::uint32_t seen = transport.signal().value();
    const Advance advance = operation.advance();
    if (advance == Advance::Done) return;
    if (advance == Advance::Blocked) transport.signal().rest(seen, transport.rest());
  }
}

}  // namespace tandem
