// Attention: one kernel, blocks of a ring, gathered keys, a share of the heads, or separate kernels.
#include "exec/cpu/kernels/attention.h"

#include <cmath>

#include "exec/attention_layout.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/unfused_attention.h"
#include "exec/cpu/operators/operator_action.h"

namespace tandem {
namespace {

using cpu::Heads;
using cpu::Write;

template <class T>
struct Keys {
  Heads<T> k, v;
};
template <class T>
Heads<T> queries(T* data, const AttentionLayout& l) {
  return {data, l.q_tokens * l.q_stride(), l.q_stride()};
}
template <class T>
Keys<T> keys(T* data, const AttentionLayout& l) {
  T* k = data + l.kv_offset();
  return {{k, l.kv_tokens * l.kv_stride(), l.kv_stride()},
          {k + l.k_width(), l.kv_tokens * l.kv_stride(), l.kv_stride()}};
}
// Keys and values side by side without queries: what goes round a ring, or is gathered.
template <class T>
Keys<T> packed_keys(T* data, const AttentionLayout& l) {
  const std::int64_t stride = l.kv_width();
  return {{data, l.kv_tokens * stride, stride}, {data + l.k_width(), l.kv_tokens * stride, stride}};
}
template <class T>
Heads<T> outputs(T* data, const AttentionLayout& l) {
  return {data, l.q_tokens * l.out_width(), l.out_width()};
}

template <class T>
class AttentionActions {
 public:
  explicit AttentionActions(const Site<T>& site)
      : site_(site),
        attention_(std::get<Attention>(site.op().kind)),
        layout_(attention_layout(site.op(), site.shard())),
        inputs_(site.model().inputs(site.call.subject.op).size()),
        way_(site.state->plan().spec.cp_comm_type),
        cp_(site.shard().cp()),
        place_(site.state->place(Axis::Context)) {}

  Action make() const {
    if (site_.call.subject.part != Part::Main) return unfused();
    const bool exchanges = cp_ > 1 && way_ == ContextCommunication::AllToAll;
    if (site_.forward()) return exchanges ? forward_share() : forward();
    return exchanges ? backward_share() : backward();
  }

 private:
  cpu::AttentionShape shape(const AttentionLayout& layout) const {
    return {.batch = layout.batch,
            .heads = layout.heads,
            .kv_heads = layout.kv_heads,
            .q_length = layout.q_tokens,
            .kv_length = layout.kv_tokens,
            .qk_head_dim = layout.qk_dim,
            .v_head_dim = layout.v_dim,
            .scale = 1 / std::sqrt(static_cast<float>(layout.qk_dim)),
            .mask = attention_.mask == AttentionMask::Causal ? cpu::Mask::Causal : cpu::Mask::Full,
            .window = attention_.window};
  }
  // T5's position biases, where the model has them: the last operands are the buckets of the table and, in the
  // backward pass, of its gradient. `memory` holds the table in fp32.
  cpu::RelativeBias bias(std::vector<float>& memory) const {
    const std::optional<OperatorId> owner = bias_owner(site_.model(), site_.call.subject.op);
    if (!owner) return {};
    const std::size_t last = site_.call.operands.size() - 1;
    const std::int64_t buckets = site_.state->setup().spec.relative_buckets;
    const T* table = site_.weight(0, site_.forward() ? last : last - 1);
    memory.resize(static_cast<std::size_t>(buckets * layout_.heads));
    cpu::copy<T, float>(buckets * layout_.heads, table, memory.data());
    return {.table = memory.data(),
            .buckets = buckets,
            .bidirectional = site_.op().sequence == Sequence::Encoder,
            .gradient = site_.forward() ? nullptr : site_.gradient(0, last)};
  }
  // Against the keys that place `source` of the context group holds.
  cpu::AttentionShape shape_against(std::int64_t source) const {
    cpu::AttentionShape block = shape(layout_);
    if (cp_ == 1) return block;
    const Sequence queries = site_.op().sequence;
    const Sequence keys = attention_.cross ? Sequence::Encoder : queries;
    block.q_positions = site_.state->positions(queries, place_).data();
    block.kv_positions = site_.state->positions(keys, static_cast<std::uint32_t>(source)).data();
    return block;
  }
  std::int64_t ring_source() const {
    return (static_cast<std::int64_t>(place_) - site_.call.occurrence % cp_ + cp_) % cp_;
  }
  bool gathers() const { return cp_ > 1 && way_ == ContextCommunication::AllGather; }
  bool later_block() const {
    return cp_ > 1 && way_ == ContextCommunication::RingP2p && site_.call.occurrence % cp_ > 0;
  }

  Action forward() const {
    const auto self = *this;
    const std::size_t came = gathers() || later_block() ? 1 : 0;
    const std::size_t y = inputs_ + came, state = y + 1, kv = layout_.kv_input();
    return [self, y, state, kv] {
      const Site<T>& site = self.site_;
      const AttentionLayout& l = self.layout_;
      const Heads<const T> q = queries<const T>(site.data(0), l);
      const Heads<T> o = outputs(site.data(y), l);
      auto* lse = site.template as<float>(state);
      std::vector<float> table;
      const cpu::RelativeBias bias = self.bias(table);
      const auto block = [&](std::int64_t source, const Keys<const T>& at, Write write) {
        cpu::attention_forward<T>(self.shape_against(source), bias, q, at.k, at.v, write, o, lse,
                                  *site.scratch);
      };
      if (self.gathers()) {
        const T* all = site.data(self.inputs_);
        for (std::int64_t s = 0; s < self.cp_; ++s)
          block(s, packed_keys<const T>(all + s * l.kv_rows() * l.kv_width(), l),
                s == 0 ? Write::Replace : Write::Accumulate);
      } else if (self.later_block()) {
        block(self.ring_source(), packed_keys<const T>(site.data(self.inputs_), l), Write::Accumulate);
      } else {
        block(self.place_, keys<const T>(site.data(kv), l), Write::Replace);
      }
    };
  }

  Action backward() const {
    const auto self = *this;
    const std::size_t came = gathers() || later_block() ? 1 : 0;
    const std::size_t y = inputs_ + 1, state = y + 1, dx = state + 1 + came, dkv = dx + inputs_;
    const std::size_t kv = layout_.kv_input();
    return [self, y, state, dx, dkv, kv] {
      const Site<T>& site = self.site_;
      const AttentionLayout& l = self.layout_;
      const Heads<const T> q = queries<const T>(site.data(1), l);
      const Heads<const T> o = outputs<const T>(site.data(y), l), d_o = outputs<const T>(site.data(0), l);
      const auto* lse = site.template as<float>(state);
      const Heads<T> dq = queries(site.data(dx), l);
      std::vector<float> table;
      const cpu::RelativeBias bias = self.bias(table);
      const auto block = [&](std::int64_t source, const Keys<const T>& at, const Keys<T>& gradient,
                             Write write_dq) {
        cpu::attention_backward<T>(self.shape_against(source), bias, q, at.k, at.v, o, d_o, lse,
                                   {dq, gradient.k, gradient.v, write_dq, Write::Replace}, *site.scratch);
      };
      if (self.gathers()) {
        const std::int64_t share = l.kv_rows() * l.kv_width();
        for (std::int64_t s = 0; s < self.cp_; ++s)
          block(s, packed_keys<const T>(site.data(state + 1) + s * share, l),
                packed_keys(site.data(dkv) + s * share, l), s == 0 ? Write::Replace : Write::Accumulate);
      } else if (self.cp_ > 1) {
        const bool later = self.later_block();
        block(self.ring_source(),
              later ? packed_keys<const T>(site.data(state + 1), l) : keys<const T>(site.data(1 + kv), l),
              packed_keys(site.data(dkv), l), later ? Write::Accumulate : Write::Replace);
      } else {
        block(0, keys<const T>(site.data(1 + kv), l), keys(site.data(dx + kv), l), Write::Replace);
      }
    };
  }

  // All tokens for a share of the heads: [arrived, result, state].
  Action forward_share() const {
    const auto self = *this;
    return [self] {
      const Site<T>& site = self.site_;
      const AttentionLayout l = self.layout_.share_of_heads();
      const T* q = site.data(0);
      const Keys<const T> at = keys<const T>(q + l.q_rows() * l.q_width(), l);
      cpu::attention_forward<T>(self.shape(l), {}, queries<const T>(q, l), at.k, at.v, Write::Replace,
                                outputs(site.data(1), l), site.template as<float>(2), *site.scratch);
    };
  }
  // [gradient of the result, arrived, result, state, gradient of what arrived].
  Action backward_share() const {
    const auto self = *this;
    return [self] {
      const Site<T>& site = self.site_;
      const AttentionLayout l = self.layout_.share_of_heads();
      const std::int64_t kv = l.q_rows() * l.q_width();
      const Keys<const T> at = keys<const T>(site.data(1) + kv, l);
      const Keys<T> gradient = keys(site.data(4) + kv, l);
      cpu::attention_backward<T>(
          self.shape(l), {}, queries<const T>(site.data(1), l), at.k, at.v, outputs<const T>(site.data(2), l),
          outputs<const T>(site.data(0), l), site.template as<float>(3),
          {queries(site.data(4), l), gradient.k, gradient.v, Write::Replace, Write::Replace}, *site.scratch);
    };
  }

  // Separate kernels over the score matrix.
  Action unfused() const {
    const auto self = *this;
    const Site<T> site = site_;
    const AttentionLayout l = layout_;
    const cpu::AttentionShape s = shape(layout_);
    const std::size_t n = inputs_, kv = layout_.kv_input();
    const bool forward = site_.forward();
    switch (site_.call.subject.part) {
      case Part::Scores:
        return [=] {
          std::vector<float> table;
          cpu::attention_scores<T>(s, self.bias(table), queries<const T>(site.data(0), l),
                                   keys<const T>(site.data(kv), l).k, site.data(n), *site.scratch);
        };
      case Part::Softmax:
        if (forward) return [=] { cpu::attention_softmax<T>(s, site.data(0)); };
        return [=] {
          std::vector<float> table;
          cpu::attention_softmax_backward<T>(s, self.bias(table), site.data(1), site.data(0), *site.scratch);
        };
      case Part::Context:
        return [=] {
          cpu::attention_context<T>(s, site.data(n), keys<const T>(site.data(kv), l).v,
                                    outputs(site.data(n + 1), l), *site.scratch);
        };
      case Part::ValueGradient:  // dy, probabilities, dx…
        return [=] {
          cpu::attention_value_gradient<T>(s, site.data(1), outputs<const T>(site.data(0), l), Write::Replace,
                                           keys(site.data(2 + kv), l).v, *site.scratch);
        };
      case Part::ProbabilityGradient:  // dy, x…, gradient of the scores
        return [=] {
          cpu::attention_probability_gradient<T>(s, outputs<const T>(site.data(0), l),
                                                 keys<const T>(site.data(1 + kv), l).v, site.data(1 + n),
                                                 *site.scratch);
        };
      case Part::QueryGradient:  // gradient of the scores, x…, dx…
        return [=] {
          cpu::attention_query_gradient<T>(s, site.data(0), keys<const T>(site.data(1 + kv), l).k,
                                           Write::Replace, queries(site.data(1 + n), l), *site.scratch);
        };
      case Part::KeyGradient:
        return [=] {
          cpu::attention_key_gradient<T>(s, site.data(0), queries<const T>(site.data(1), l), Write::Replace,
                                         keys(site.data(1 + n + kv), l).k, *site.scratch);
        };
      default:
        check(false, "a part of attention that can run");
        return {};
    }
  }

  Site<T> site_;
  Attention attention_;
  AttentionLayout layout_;
  std::size_t inputs_;
  ContextCommunication way_;
  std::int64_t cp_;
  std::uint32_t place_;
};

}  // namespace

template <class T>
Action attention_action(const Site<T>& site) {
  return AttentionActions<T>(site).make();
}

template Action attention_action<float>(const Site<float>&);
template Action attention_action<cpu::Bf16>(const Site<cpu::Bf16>&);

}  // namespace tandem
