// Messages cut in segments, a few of them open at a time: none exceeds MPI's int, and what is added up is still
// in cache when its sum is made.
#include "exec/mpi/mpi_transport.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/problem/problem.h"
#include "exec/communicate/slots.h"
#include "exec/mpi/mpi_call.h"
#include "exec/mpi/patience.h"

namespace tandem {
namespace {

constexpr std::size_t segment_bytes = std::size_t{1} << 20;
constexpr std::size_t window = 4;  // open segments of one message

struct MpiMessage {
  bool sends = false, combines = false;
  int peer = 0, tag = 0;
  ElementType type = ElementType::Byte;
  Reduction reduction = Reduction::Sum;
  std::byte* data = nullptr;
  std::size_t bytes = 0, segments = 0, posted = 0, finished = 0;
  std::uint64_t number = 0;  // in the order of the calls
  std::array<MPI_Request, window> requests;
  std::array<std::vector<std::byte>, window> arrived;  // of what is to be combined; kept for the next message

  std::size_t size(std::size_t segment) const {
    return std::min(segment_bytes, bytes - segment * segment_bytes);
  }
};

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm world) {
    mpi_call(MPI_Comm_dup(world, &comm_), "MPI_Comm_dup");
    mpi_call(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int rank = 0, ranks = 0, found = 0;
    int* highest_tag = nullptr;
    mpi_call(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
    mpi_call(MPI_Comm_size(comm_, &ranks), "MPI_Comm_size");
    mpi_call(MPI_Comm_get_attr(comm_, MPI_TAG_UB, &highest_tag, &found), "MPI_Comm_get_attr");
    rank_ = static_cast<std::uint32_t>(rank);
    ranks_ = static_cast<std::uint32_t>(ranks);
    if (found) highest_tag_ = static_cast<std::uint32_t>(*highest_tag);
  }
  ~MpiTransport() override { MPI_Comm_free(&comm_); }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return ranks_; }

  Request send(std::uint32_t to, std::uint32_t tag, std::span<const std::byte> data) override {
    const Request request = open(to, tag, const_cast<std::byte*>(data.data()), data.size());  // MPI only reads
    MpiMessage& message = messages_[request.index];
    message.sends = true;
    post(message);
    return request;
  }
  Request receive(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data) override {
    const Request request = open(from, tag, data.data(), data.size());
    post(messages_[request.index]);
    return request;
  }
  Request receive_combine(std::uint32_t from, std::uint32_t tag, std::span<std::byte> data, ElementType type,
                          Reduction reduction) override {
    const Request request = open(from, tag, data.data(), data.size());
    MpiMessage& message = messages_[request.index];
    message.combines = true;
    message.type = type;
    message.reduction = reduction;
    post(message);
    return request;
  }

  Advance test(Request request) override {
    throw_if_given_up();
    MpiMessage& message = messages_[request.index];
    const bool moved = take_finished(message) | post(message);
    if (moved) patience_.renew();
    if (message.finished < message.segments) return moved ? Advance::Moved : Advance::Blocked;
    messages_.give_back(request.index);
    return Advance::Done;
  }

  Signal& signal() override { return signal_; }
  Rest rest() override { return patience_.rest(); }
  void give_up(std::string_view reason) noexcept override {
    if (reason_.empty()) reason_ = reason;
  }

 private:
  void throw_if_given_up() const {
    if (!reason_.empty()) throw BackendError(reason_);
  }

  Request open(std::uint32_t peer, std::uint32_t tag, std::byte* data, std::size_t bytes) {
    throw_if_given_up();
    check(tag <= highest_tag_, "the tag is larger than MPI's largest");
    const Request request{messages_.take()};
    MpiMessage& message = messages_[request.index];
    message.sends = message.combines = false;
    message.peer = static_cast<int>(peer);
    message.tag = static_cast<int>(tag);
    message.data = data;
    message.bytes = bytes;
    message.segments = std::max<std::size_t>(1, (bytes + segment_bytes - 1) / segment_bytes);
    message.posted = message.finished = 0;
    message.number = next_number_++;
    return request;
  }

  // Segments of one message follow those of the message before it, which MPI then matches in order.
  bool is_first(const MpiMessage& message) {
    bool first = true;
    messages_.for_each([&](const MpiMessage& other) {
      if (other.number < message.number && other.posted < other.segments && other.sends == message.sends &&
          other.peer == message.peer && other.tag == message.tag)
        first = false;
    });
    return first;
  }

  bool post(MpiMessage& message) {
    if (message.posted == message.segments || !is_first(message)) return false;
    const std::size_t before = message.posted;
    while (message.posted < message.segments && message.posted < message.finished + window)
      post_segment(message, message.posted++);
    return message.posted > before;
  }

  void post_segment(MpiMessage& message, std::size_t segment) {
    const int bytes = static_cast<int>(message.size(segment));
    MPI_Request* request = &message.requests[segment % window];
    std::byte* place = message.data + segment * segment_bytes;
    if (message.sends) {
      mpi_call(MPI_Isend(place, bytes, MPI_BYTE, message.peer, message.tag, comm_, request), "MPI_Isend");
      return;
    }
    if (message.combines) {
      std::vector<std::byte>& arrived = message.arrived[segment % window];
      if (arrived.size() < message.size(segment)) arrived.resize(message.size(segment));
      place = arrived.data();
    }
    mpi_call(MPI_Irecv(place, bytes, MPI_BYTE, message.peer, message.tag, comm_, request), "MPI_Irecv");
  }

  bool take_finished(MpiMessage& message) {
    const std::size_t before = message.finished;
    for (; message.finished < message.posted; ++message.finished) {
      MPI_Status status;
      int done = 0;
      mpi_call(MPI_Test(&message.requests[message.finished % window], &done, &status), "MPI_Test");
      if (!done) break;
      if (!message.sends) take_segment(message, message.finished, status);
    }
    return message.finished > before;
  }

  void take_segment(MpiMessage& message, std::size_t segment, const MPI_Status& status) {
    int bytes = 0;
    mpi_call(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    check(static_cast<std::size_t>(bytes) == message.size(segment),
          "sender and receiver name different sizes of a message");
    if (message.combines)
      combine(message.type, message.reduction, message.data + segment * segment_bytes,
              message.arrived[segment % window].data(), message.size(segment));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::uint32_t rank_ = 0, ranks_ = 0, highest_tag_ = 32767;  // the least that MPI promises
  Signal signal_;
  Patience patience_;  // messages move only inside MPI's calls: nobody could end a sleep
  Slots<MpiMessage> messages_;
  std::uint64_t next_number_ = 0;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Transport> mpi_transport(MPI_Comm world) { return std::make_unique<MpiTransport>(world); }

}  // namespace tandem
