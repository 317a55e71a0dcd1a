// Which file knows a task's exchange.
#include "exec/exchanges.h"

#include "exec/exchange_site.h"

namespace tandem {

std::vector<ExchangeStep> make_exchanges(const ComputeCall& call, const Work& work, RankState& state,
                                         ExchangeOptions options) {
  const ExchangeSite site{call, &work, &state, options};
  const Part part = call.subject.part;
  if (std::holds_alternative<Send>(work) || std::holds_alternative<Receive>(work))
    return message(site, state.program().tasks[call.task].message);
  check(std::holds_alternative<Collective>(work), "an exchange that can run");
  if (part >= Part::BucketAllReduce) return parameter_exchange(site);
  const OperatorKind& kind = site.op().kind;
  if (std::holds_alternative<Dispatch>(kind) || std::holds_alternative<Combine>(kind))
    return expert_exchange(site);
  if (std::holds_alternative<Attention>(kind)) return attention_exchange(site);
  return tensor_exchange(site);
}

std::vector<ExchangeStep> message(const ExchangeSite& site, std::uint32_t number) {
  // Beyond the tags of collectives; the tensors of one message follow one another.
  const std::uint32_t tag = static_cast<std::uint32_t>(Axis::Count) + number;
  const bool sends = std::holds_alternative<Send>(*site.work);
  const std::uint32_t peer = sends ? std::get<Send>(*site.work).peer : std::get<Receive>(*site.work).peer;
  const Mesh& mesh = site.state->plan().mesh;
  const std::uint32_t rank =
      mesh.member(Axis::Pipeline, mesh.place(site.state->rank(), Axis::Pipeline).group, peer).value;
  std::vector<ExchangeStep> steps;
  for (std::size_t i = 0; i < site.call.operands.size(); ++i) {
    const std::span<std::byte> data(site.data(i), site.bytes(i));
    if (sends)
      steps.push_back({SendCall{rank, tag, data}});
    else
      steps.push_back({ReceiveCall{rank, tag, data}});
  }
  return steps;
}

}  // namespace tandem
