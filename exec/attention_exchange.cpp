// Context parallelism: keys that go round or are gathered, heads that change hands, and their gradients.
#include "exec/attention_layout.h"
#include "exec/exchange_site.h"

namespace tandem {
namespace {

class AttentionExchange {
 public:
  explicit AttentionExchange(const ExchangeSite& site)
      : site_(site),
        layout_(attention_layout(site.op(), site.state->shard())),
        inputs_(site.state->model().inputs(site.call.subject.op).size()),
        e_(site.element()),
        cp_(static_cast<std::size_t>(layout_.context_ranks)) {}

  std::vector<ExchangeStep> make() const {
    switch (site_.call.subject.part) {
      case Part::RingKv:
      case Part::GradientRingKv:
        return ring_keys();
      case Part::GradientRingDkv:
        return ring_key_gradients();
      case Part::AllGatherKv:
      case Part::GradientAllGatherKv:
        return gather_keys();
      case Part::GradientReduceScatterKv:
        return scatter_key_gradients();
      case Part::AllToAllQkv:
        return heads_for_tokens();
      case Part::AllToAllOut:
        return tokens_for_heads(site_.data(0), site_.data(1));
      case Part::GradientAllToAllOut:
        return outputs_to_heads(site_.data(0), site_.data(1));
      case Part::GradientAllToAllQkv:
        return heads_to_gradients();
      default:
        check(false, "an exchange of attention");
        return {};
    }
  }

 private:
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * e_; }
  std::size_t kv_bytes() const { return bytes(layout_.kv_rows() * layout_.kv_width()); }

  // Between rows of the operator's tensor and keys and values side by side.
  void pack_keys(const std::byte* tensor, std::byte* to) const {
    copy_rows(static_cast<std::size_t>(layout_.kv_rows()), bytes(layout_.kv_width()),
              tensor + bytes(layout_.kv_offset()), bytes(layout_.kv_stride()), to, bytes(layout_.kv_width()));
  }
  void unpack_keys(const std::byte* from, std::byte* tensor) const {
    copy_rows(static_cast<std::size_t>(layout_.kv_rows()), bytes(layout_.kv_width()), from,
              bytes(layout_.kv_width()), tensor + bytes(layout_.kv_offset()), bytes(layout_.kv_stride()));
  }

  CollectiveCall call(std::byte* data, std::size_t bytes, std::byte* result = nullptr) const {
    return site_.collective_call(site_.type(), data, bytes / e_, result);
  }

  // [x… | keys that came before] → [keys]
  std::vector<ExchangeStep> ring_keys() const {
    const std::size_t to = site_.call.operands.size() - 1;
    const bool first = site_.call.occurrence % (cp_ - 1) == 0;
    if (!first) return {{call(site_.data(0), kv_bytes(), site_.data(to))}};
    std::byte* own = site_.outgoing(kv_bytes());
    ExchangeStep step{call(own, kv_bytes(), site_.data(to))};
    const auto self = *this;
    step.before = [self, own] { self.pack_keys(self.site_.data(self.layout_.kv_input()), own); };
    return {step};
  }

  // [own part, sum that came…] → [sum to come], and at the end the input's gradient.
  std::vector<ExchangeStep> ring_key_gradients() const {
    const std::size_t step_number = site_.call.occurrence % cp_;
    const bool first = step_number == 0, last = step_number + 1 == cp_;
    const std::size_t to = first ? 1 : 2;
    ExchangeStep step{call(site_.data(0), kv_bytes(), site_.data(to))};
    const auto self = *this;
    if (!first) {
      step.before = [self] {
        combine(self.site_.type(), Reduction::Sum, self.site_.data(0), self.site_.data(1), self.kv_bytes());
      };
    }
    if (last) {
      const std::size_t dx = to + 1 + layout_.kv_input();
      step.finish = [self, to, dx] { self.unpack_keys(self.site_.data(to), self.site_.data(dx)); };
    }
    return {step};
  }

  // [x…] → [keys of all]
  std::vector<ExchangeStep> gather_keys() const {
    const std::size_t to = inputs_;
    ExchangeStep step{call(site_.data(to), kv_bytes() * cp_)};
    const auto self = *this;
    const std::size_t place = site_.members().place;
    step.before = [self, to, place] {
      self.pack_keys(self.site_.data(self.layout_.kv_input()), self.site_.data(to) + place * self.kv_bytes());
    };
    return {step};
  }

  // [gradients of the keys of all, dx…]
  std::vector<ExchangeStep> scatter_key_gradients() const {
    ExchangeStep step{call(site_.data(0), kv_bytes() * cp_)};
    const auto self = *this;
    const std::size_t place = site_.members().place, dx = 1 + layout_.kv_input();
    step.finish = [self, place, dx] {
      self.unpack_keys(self.site_.data(0) + place * self.kv_bytes(), self.site_.data(dx));
    };
    return {step};
  }

  // One stretch of heads: `width` elements at `offset` of rows with `stride`; each rank of the group has a
  // share.
  struct Stretch {
    std::size_t input;
    std::int64_t tokens, offset, width, stride;
    std::int64_t share_offset, share_stride;  // in the region of a share of the heads
    std::int64_t region;                      // where that region begins, in elements
  };
  std::vector<Stretch> stretches() const {
    const AttentionLayout& l = layout_;
    const AttentionLayout share = l.share_of_heads();
    const std::int64_t keys = share.q_rows() * share.q_width();
    const std::size_t kv = l.kv_input();
    const std::int64_t v_width = l.kv_width() - l.k_width();
    return {{0, l.q_tokens, 0, l.q_width(), l.q_stride(), 0, share.q_width(), 0},
            {kv, l.kv_tokens, l.kv_offset(), l.k_width(), l.kv_stride(), 0, share.kv_width(), keys},
            {kv, l.kv_tokens, l.kv_offset() + l.k_width(), v_width, l.kv_stride(), share.k_width(),
             share.kv_width(), keys}};
  }

  // Between a rank's own tokens with all heads, piece d of `wire` holding the heads of place d, …
  void own_tokens(const Stretch& s, std::byte* tensor, std::byte* wire, std::size_t at, bool pack) const {
    const std::int64_t width = s.width / layout_.context_ranks;
    const auto rows = static_cast<std::size_t>(layout_.batch * s.tokens);
    for (std::size_t d = 0; d < cp_; ++d) {
      std::byte* there = tensor + bytes(s.offset + static_cast<std::int64_t>(d) * width);
      std::byte* piece = wire + d * piece_bytes() + at;
      if (pack)
        copy_rows(rows, bytes(width), there, bytes(s.stride), piece, bytes(width));
      else
        copy_rows(rows, bytes(width), piece, bytes(width), there, bytes(s.stride));
    }
  }
  // … and all tokens with a share of the heads, piece s of `wire` holding the tokens of place s.
  void all_tokens(const Stretch& s, std::byte* region, std::byte* wire, std::size_t at, bool pack) const {
    const std::int64_t width = s.width / layout_.context_ranks;
    for (std::size_t source = 0; source < cp_; ++source) {
      for (std::int64_t b = 0; b < layout_.batch; ++b) {
        const std::int64_t row = (b * layout_.context_ranks + static_cast<std::int64_t>(source)) * s.tokens;
        std::byte* there = region + bytes(s.region + row * s.share_stride + s.share_offset);
        std::byte* piece = wire + source * piece_bytes() + at + bytes(b * s.tokens * width);
        if (pack)
          copy_rows(static_cast<std::size_t>(s.tokens), bytes(width), there, bytes(s.share_stride), piece,
                    bytes(width));
        else
          copy_rows(static_cast<std::size_t>(s.tokens), bytes(width), piece, bytes(width), there,
                    bytes(s.share_stride));
      }
    }
  }
  std::size_t piece_bytes() const { return piece_bytes_; }
  AttentionExchange with_pieces(std::size_t bytes) const {
    AttentionExchange copy = *this;
    copy.piece_bytes_ = bytes;
    return copy;
  }
  std::size_t qkv_piece() const {
    std::int64_t elements = 0;
    for (const Stretch& s : stretches())
      elements += layout_.batch * s.tokens * (s.width / layout_.context_ranks);
    return bytes(elements);
  }
  template <class Move>
  void for_stretches(const Move& move) const {
    std::size_t at = 0;
    for (const Stretch& s : stretches()) {
      move(s, at);
      at += bytes(layout_.batch * s.tokens * (s.width / layout_.context_ranks));
    }
  }

  // [x…] → [q, k, v of all tokens for a share of the heads]
  std::vector<ExchangeStep> heads_for_tokens() const {
    const AttentionExchange self = with_pieces(qkv_piece());
    const std::size_t all = cp_ * self.piece_bytes_, to = inputs_;
    std::byte *out = site_.outgoing(all), *in = site_.incoming(all);
    ExchangeStep step{call(out, all, in)};
    step.before = [self, out] {
      self.for_stretches([&](const Stretch& s, std::size_t at) {
        self.own_tokens(s, self.site_.data(s.input), out, at, true);
      });
    };
    step.finish = [self, in, to] {
      self.for_stretches(
          [&](const Stretch& s, std::size_t at) { self.all_tokens(s, self.site_.data(to), in, at, false); });
    };
    return {step};
  }
  // [gradient of q, k, v of a share of the heads] → [dx…]
  std::vector<ExchangeStep> heads_to_gradients() const {
    const AttentionExchange self = with_pieces(qkv_piece());
    const std::size_t all = cp_ * self.piece_bytes_;
    std::byte *out = site_.outgoing(all), *in = site_.incoming(all);
    ExchangeStep step{call(out, all, in)};
    step.before = [self, out] {
      self.for_stretches(
          [&](const Stretch& s, std::size_t at) { self.all_tokens(s, self.site_.data(0), out, at, true); });
    };
    step.finish = [self, in] {
      self.for_stretches([&](const Stretch& s, std::size_t at) {
        self.own_tokens(s, self.site_.data(1 + s.input), in, at, false);
      });
    };
    return {step};
  }

  Stretch output_stretch() const {
    const std::int64_t width = layout_.out_width();
    return {0, layout_.q_tokens, 0, width, width, 0, width / layout_.context_ranks, 0};
  }
  // Outputs of a share of the heads → own tokens with all heads.
  std::vector<ExchangeStep> tokens_for_heads(std::byte* share, std::byte* own) const {
    const Stretch s = output_stretch();
    const AttentionExchange self = with_pieces(bytes(layout_.q_rows() * (s.width / layout_.context_ranks)));
    const std::size_t all = cp_ * self.piece_bytes_;
    std::byte *out = site_.outgoing(all), *in = site_.incoming(all);
    ExchangeStep step{call(out, all, in)};
    step.before = [self, s, share, out] { self.all_tokens(s, share, out, 0, true); };
    step.finish = [self, s, own, in] { self.own_tokens(s, own, in, 0, false); };
    return {step};
  }
  std::vector<ExchangeStep> outputs_to_heads(std::byte* own, std::byte* share) const {
    const Stretch s = output_stretch();
    const AttentionExchange self = with_pieces(bytes(layout_.q_rows() * (s.width / layout_.context_ranks)));
    const std::size_t all = cp_ * self.piece_bytes_;
    std::byte *out = site_.outgoing(all), *in = site_.incoming(all);
    ExchangeStep step{call(out, all, in)};
    step.before = [self, s, own, out] { self.own_tokens(s, own, out, 0, true); };
    step.finish = [self, s, share, in] { self.all_tokens(s, share, in, 0, false); };
    return {step};
  }

  ExchangeSite site_;
  AttentionLayout layout_;
  std::size_t inputs_, e_, cp_, piece_bytes_ = 0;
};

}  // namespace

std::vector<ExchangeStep> attention_exchange(const ExchangeSite& site) {
  return AttentionExchange(site).make();
}

}  // namespace tandem
