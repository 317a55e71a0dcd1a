// Tables: tokens, positions, types.
#include "exec/cpu/kernels/embedding.h"

#include <cstring>

#include "exec/cpu/operators/operator_action.h"

namespace tandem {
namespace {

enum class Ids : std::uint8_t { Tokens, Positions, Types };
Ids ids_of(const Operator& op) {
  if (op.name.ends_with("position")) return Ids::Positions;
  return op.name.ends_with("type") ? Ids::Types : Ids::Tokens;
}

// Of this rank's rows; all tokens are of type 0.
const std::int32_t* ids(const Batch& batch, Ids kind, Sequence sequence, std::int64_t begin) {
  const bool encoder = sequence == Sequence::Encoder;
  const std::vector<std::int32_t>& all = kind == Ids::Tokens ? (encoder ? batch.encoder_tokens : batch.tokens)
                                         : encoder           ? batch.encoder_positions
                                                             : batch.positions;
  return all.data() + begin;
}

}  // namespace

template <class T>
Action embedding_action(const Site<T>& site) {
  const auto& table = std::get<Embedding>(site.op().kind);
  const bool split = site.op().split == Split::Vocabulary;
  const std::int64_t rows = site.rows();
  const std::int64_t begin = site.splits_tokens() ? site.own_begin() : 0;
  const std::int64_t table_rows = split ? site.state->plan().padded_vocabulary / site.shard().tp() : table.rows;
  const cpu::TableShard shape{.first_row = split ? site.state->place(Axis::Tensor) * table_rows : 0,
                              .rows = table_rows,
                              .width = table.width};
  const Ids kind = ids_of(site.op());
  const Sequence sequence = site.op().sequence;
  const std::vector<std::int32_t> types(kind == Ids::Types ? static_cast<std::size_t>(rows) : 0, 0);
  const auto chosen = [=] {
    return kind == Ids::Types ? types.data() : ids(site.batch(), kind, sequence, begin);
  };
  if (!site.forward())
    return [=] { cpu::embedding_backward<T>(shape, rows, chosen(), site.data(0), site.gradient(0, 1)); };
  const bool adds = !site.model().inputs(site.call.subject.op).empty();
  if (!adds) {
    return [=] {
      cpu::embedding_forward<T>(shape, rows, chosen(), site.weight(0, 1), cpu::Write::Replace, site.data(0));
    };
  }
  const std::size_t bytes = static_cast<std::size_t>(rows * table.width) * sizeof(T);
  return [=] {
    std::memcpy(site.data(1), site.data(0), bytes);
    cpu::embedding_forward<T>(shape, rows, chosen(), site.weight(0, 2), cpu::Write::Accumulate, site.data(1));
  };
}

template Action embedding_action<float>(const Site<float>&);
template Action embedding_action<cpu::Bf16>(const Site<cpu::Bf16>&);

}  // namespace tandem
