// Expert parallelism: routed rows to the ranks of their experts and back, in numbers that only routing knows.
#include <numeric>

#include "exec/cpu/operators/operator_action.h"
#include "exec/exchange_site.h"

namespace tandem {
namespace {

// Read when a call starts; one for each step of a task.
struct Parcels {
  std::vector<std::size_t> send, receive;  // bytes, by place
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
};

class ExpertExchange {
 public:
  explicit ExpertExchange(const ExchangeSite& site)
      : site_(site),
        dispatch_(dispatch_before(site.state->model(), site.call.subject.op)),
        shape_(std::get<Dispatch>(site.state->model()[dispatch_].kind)),
        ep_(static_cast<std::size_t>(site.state->shard().ep())),
        etp_(static_cast<std::size_t>(site.state->shard().etp())),
        own_experts_(static_cast<std::size_t>(shape_.experts) / ep_),
        a_row_(static_cast<std::size_t>(shape_.width) * site.element()) {}

  std::vector<ExchangeStep> make() const {
    switch (site_.call.subject.part) {
      case Part::AllToAll:
        if (site_.call.subject.op == dispatch_) return {count_arriving(), to_experts(2)};
        return {from_experts(1)};
      case Part::GradientAllToAll:
        return {site_.call.subject.op == dispatch_ ? from_experts(2) : to_experts(2)};
      case Part::AllGather:
        return {count_gathered(), gather(2)};
      case Part::GradientAllGather:
        return {gather(2)};
      case Part::ReduceScatter:
        return {sum(1)};
      case Part::GradientReduceScatter:
        return {sum(2)};
      default:
        check(false, "an exchange of experts");
        return {};
    }
  }

 private:
  Routing& routing() const { return site_.state->routing(dispatch_, site_.call.microbatch); }

  // Where rows go that may be more than even routing brings.
  std::byte* output(std::size_t operand, std::int64_t rows) const {
    const ValueId value = site_.call.operands[operand].value;
    if (!site_.state->flow().values[value].routed) return site_.data(operand);
    return site_.state->routed(value, static_cast<std::size_t>(rows) * a_row_);
  }

  template <class Count>
  std::size_t bytes_of(const std::vector<Count>& rows, std::size_t group, std::size_t size) const {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(group * size);
    const auto sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(size), std::int64_t{0});
    return static_cast<std::size_t>(sum) * a_row_;
  }

  ExchangeStep exchange(const std::shared_ptr<Parcels>& parcels, Axis axis) const {
    const std::size_t n = axis == Axis::Expert ? ep_ : etp_;
    parcels->send.resize(n);
    parcels->receive.resize(n);
    return {AllToAllVCall{site_.members(axis), &parcels->from, &parcels->to, parcels->send, parcels->receive}};
  }

  ExchangeStep count_arriving() const {
    const std::size_t experts = ep_ * own_experts_;
    const std::size_t bytes = experts * sizeof(std::int32_t);
    std::byte *out = site_.outgoing(bytes), *in = site_.incoming(bytes);
    CollectiveCall call;
    call.kind = CollectiveKind::AllToAll;
    call.members = site_.members(Axis::Expert);
    call.type = ElementType::Int32;
    call.data = out;
    call.result = in;
    call.elements = experts;
    ExchangeStep step{call};
    const auto self = *this;
    step.before = [self, out] {
      auto* counts = reinterpret_cast<std::int32_t*>(out);
      for (std::int64_t rows : self.routing().rows_of_expert) *counts++ = static_cast<std::int32_t>(rows);
    };
    step.finish = [self, in, experts] {
      Routing& routed = self.routing();
      const auto* counts = reinterpret_cast<const std::int32_t*>(in);
      routed.arriving.assign(counts, counts + experts);
      routed.arriving_rows = std::accumulate(counts, counts + experts, std::int64_t{0});
      routed.gathered = routed.arriving;
      routed.rows = routed.arriving_rows;
    };
    return step;
  }

  ExchangeStep to_experts(std::size_t to) const {
    return over_ep(&Routing::rows_of_expert, &Routing::arriving, to);
  }
  ExchangeStep from_experts(std::size_t to) const {
    return over_ep(&Routing::arriving, &Routing::rows_of_expert, to);
  }
  // Rows by expert that leave for each rank of the ep group, and that come from it.
  template <class Leaving, class Coming>
  ExchangeStep over_ep(Leaving Routing::*leaving, Coming Routing::*coming, std::size_t to) const {
    const auto parcels = std::make_shared<Parcels>();
    ExchangeStep step = exchange(parcels, Axis::Expert);
    const auto self = *this;
    step.before = [self, parcels, leaving, coming, to] {
      const Routing& routed = self.routing();
      for (std::size_t peer = 0; peer < self.ep_; ++peer) {
        parcels->send[peer] = self.bytes_of(routed.*leaving, peer, self.own_experts_);
        parcels->receive[peer] = self.bytes_of(routed.*coming, peer, self.own_experts_);
      }
      parcels->from = self.site_.data(0);
      parcels->to =
          self.output(to, std::accumulate((routed.*coming).begin(), (routed.*coming).end(), std::int64_t{0}));
    };
    return step;
  }

  ExchangeStep count_gathered() const {
    const std::size_t experts = ep_ * own_experts_;
    std::byte* all = site_.incoming(etp_ * experts * sizeof(std::int32_t));
    CollectiveCall call;
    call.kind = CollectiveKind::AllGather;
    call.members = site_.members(Axis::ExpertTensor);
    call.type = ElementType::Int32;
    call.data = all;
    call.elements = etp_ * experts;
    ExchangeStep step{call};
    const auto self = *this;
    const std::size_t own = call.members.place * experts;
    step.before = [self, all, own] {
      const Routing& routed = self.routing();
      std::copy(routed.arriving.begin(), routed.arriving.end(), reinterpret_cast<std::int32_t*>(all) + own);
    };
    step.finish = [self, all, experts] {
      Routing& routed = self.routing();
      const auto* counts = reinterpret_cast<const std::int32_t*>(all);
      routed.gathered.assign(counts, counts + self.etp_ * experts);
      routed.rows = std::accumulate(routed.gathered.begin(), routed.gathered.end(), std::int64_t{0});
    };
    return step;
  }

  // Each member sends all its rows to all.
  ExchangeStep gather(std::size_t to) const {
    const auto parcels = std::make_shared<Parcels>();
    ExchangeStep step = exchange(parcels, Axis::ExpertTensor);
    const auto self = *this;
    std::vector<std::byte>& memory = site_.rows_laid_out();
    step.before = [self, parcels, to, &memory] {
      const Routing& routed = self.routing();
      const std::size_t own = static_cast<std::size_t>(routed.arriving_rows) * self.a_row_;
      memory.resize(self.etp_ * own);
      for (std::size_t peer = 0; peer < self.etp_; ++peer) {
        parcels->send[peer] = own;
        parcels->receive[peer] = self.bytes_of(routed.gathered, peer, self.ep_ * self.own_experts_);
        if (own > 0) std::memcpy(memory.data() + peer * own, self.site_.data(0), own);
      }
      parcels->from = memory.data();
      parcels->to = self.output(to, routed.rows);
    };
    return step;
  }

  // The members' parts of this rank's rows, added in the order of their places.
  ExchangeStep sum(std::size_t to) const {
    const auto parcels = std::make_shared<Parcels>();
    ExchangeStep step = exchange(parcels, Axis::ExpertTensor);
    const auto self = *this;
    std::vector<std::byte>& memory = site_.rows_laid_out();
    step.before = [self, parcels, &memory] {
      const Routing& routed = self.routing();
      const std::size_t own = static_cast<std::size_t>(routed.arriving_rows) * self.a_row_;
      memory.resize(self.etp_ * own);
      for (std::size_t peer = 0; peer < self.etp_; ++peer) {
        parcels->send[peer] = self.bytes_of(routed.gathered, peer, self.ep_ * self.own_experts_);
        parcels->receive[peer] = own;
      }
      parcels->from = self.site_.data(0);
      parcels->to = memory.data();
    };
    step.finish = [self, to, &memory] {
      const Routing& routed = self.routing();
      const std::size_t own = static_cast<std::size_t>(routed.arriving_rows) * self.a_row_;
      std::byte* total = self.output(to, routed.arriving_rows);
      if (own == 0) return;
      std::memcpy(total, memory.data(), own);
      for (std::size_t peer = 1; peer < self.etp_; ++peer)
        combine(self.site_.type(), Reduction::Sum, total, memory.data() + peer * own, own);
    };
    return step;
  }

  ExchangeSite site_;
  OperatorId dispatch_;
  Dispatch shape_;
  std::size_t ep_, etp_, own_experts_, a_row_;
};

}  // namespace

std::vector<ExchangeStep> expert_exchange(const ExchangeSite& site) { return ExpertExchange(site).make(); }

}  // namespace tandem
