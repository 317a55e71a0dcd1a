// Gathers and sums of activations over tensor-parallel ranks; the three sums of a split cross entropy.
#include "exec/cpu/kernels/cross_entropy.h"
#include "exec/exchange_site.h"

namespace tandem {
namespace {

// [own share of the rows] → [all rows]
ExchangeStep gather(const ExchangeSite& site) {
  const std::size_t own = site.bytes(0), all = site.bytes(1);
  const std::size_t place = site.members().place;
  ExchangeStep step{site.collective_call(site.type(), site.data(1), all / site.element())};
  step.before = [=] { std::memcpy(site.data(1) + place * own, site.data(0), own); };
  return step;
}

ExchangeStep maximum(const ExchangeSite& site, std::int64_t rows) {
  auto* state = reinterpret_cast<float*>(site.data(0));
  ExchangeStep step{site.collective_call(ElementType::Float, site.data(0), static_cast<std::size_t>(rows))};
  std::get<CollectiveCall>(step.call).reduction = Reduction::Max;
  // Sums of exponentials were taken below the own maximum: they move to the common one.
  const auto own = std::make_shared<std::vector<float>>();
  step.before = [=] { own->assign(state, state + rows); };
  step.finish = [=] { cpu::rescale_sums(rows, own->data(), state, state + rows); };
  return step;
}

}  // namespace

std::vector<ExchangeStep> tensor_exchange(const ExchangeSite& site) {
  const std::int64_t rows = site.state->shard().kernel_rows(site.op());
  const auto a_row = static_cast<std::size_t>(rows);
  switch (site.call.subject.part) {
    case Part::AllGather:
    case Part::InputAllGather:
    case Part::GradientAllGather:
      return {gather(site)};
    case Part::ReduceScatter:
    case Part::GradientReduceScatter:
      return {{site.collective_call(site.type(), site.data(0), site.bytes(0) / site.element(), site.data(1))}};
    case Part::AllReduce:
    case Part::GradientAllReduce:
      return {{site.collective_call(site.type(), site.data(0), site.bytes(0) / site.element())}};
    case Part::Maximum:
      return {maximum(site, rows)};
    case Part::ExponentialSum:
      return {{site.collective_call(ElementType::Float, site.data(0) + a_row * sizeof(float), a_row)}};
    case Part::Target:
      return {{site.collective_call(ElementType::Float, site.data(0) + 2 * a_row * sizeof(float), a_row)}};
    default:
      check(false, "an exchange of tensor parallelism");
      return {};
  }
}

}  // namespace tandem
