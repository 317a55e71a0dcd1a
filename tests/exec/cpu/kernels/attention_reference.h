// Attention in double by its definition, with random operands, for the tests of the fused and the unfused
// kernels.
#pragma once
#include "exec/cpu/kernels/attention_shape.h"
#include "exec/cpu/kernels/relative_bias.h"
#include "tests/exec/cpu/kernels/support.h"

namespace tandem::cpu {

// Operands of one block in storage type T: q, o, do [batch, q_length, heads, dim], k, v [batch, kv_length,
// kv_heads, dim].
template <class T>
struct AttentionOperands {
  AttentionShape shape;
  RelativeBias bias;
  std::vector<T> q, k, v, d_o;

  std::int64_t q_count() const { return shape.batch * shape.q_length * shape.heads * shape.qk_head_dim; }
  std::int64_t k_count() const { return shape.batch * shape.kv_length * shape.kv_heads * shape.qk_head_dim; }
  std::int64_t v_count() const { return shape.batch * shape.kv_length * shape.kv_heads * shape.v_head_dim; }
  std::int64_t o_count() const { return shape.batch * shape.q_length * shape.heads * shape.v_head_dim; }
  std::int64_t lse_count() const { return shape.batch * shape.heads * shape.q_length; }

  explicit AttentionOperands(const AttentionShape& s, const RelativeBias& b = {}) : shape(s), bias(b) {
    q = random_values<T>(q_count(), 11, 2);
    k = random_values<T>(k_count(), 12, 2);
    v = random_values<T>(v_count(), 13);
    d_o = random_values<T>(o_count(), 14);
  }
  template <class U>
  Heads<U> q_heads(U* data) const {
    return {data, shape.q_length * shape.heads * shape.qk_head_dim, shape.heads * shape.qk_head_dim};
  }
  template <class U>
  Heads<U> k_heads(U* data) const {
    return {data, shape.kv_length * shape.kv_heads * shape.qk_head_dim, shape.kv_heads * shape.qk_head_dim};
  }
  template <class U>
  Heads<U> v_heads(U* data) const {
    return {data, shape.kv_length * shape.kv_heads * shape.v_head_dim, shape.kv_heads * shape.v_head_dim};
  }
  template <class U>
  Heads<U> o_heads(U* data) const {
    return {data, shape.q_length * shape.heads * shape.v_head_dim, shape.heads * shape.v_head_dim};
  }
};

struct AttentionReference {
  Doubles o, lse, dq, dk, dv, dtable;
};

inline bool sees(const AttentionShape& s, std::int64_t query, std::int64_t key) {
  const std::int64_t q = s.q_positions ? s.q_positions[query] : query,
                     k = s.kv_positions ? s.kv_positions[key] : key;
  if (s.mask == Mask::Causal && k > q) return false;
  return s.window == 0 || std::abs(q - k) < s.window;
}
inline std::int64_t bucket(const AttentionShape& s, const RelativeBias& bias, std::int64_t query,
                           std::int64_t key) {
  const std::int64_t q = s.q_positions ? s.q_positions[query] : query,
                     k = s.kv_positions ? s.kv_positions[key] : key;
  return relative_bucket(bias, k - q);
}

// Forward and, with the analytic derivative, backward. `table` is the bias in double.
inline AttentionReference attention_reference(const AttentionShape& s, const RelativeBias& bias,
                                              const Doubles& q, const Doubles& k, const Doubles& v,
                                              const Doubles& d_o, const Doubles& table) {
  AttentionReference r{Doubles(d_o.size()), Doubles(s.batch * s.heads * s.q_length),
                       Doubles(q.size()),   Doubles(k.size()),
                       Doubles(v.size()),   Doubles(table.size())};
  const double scale = static_cast<double>(s.scale);
  Doubles p(s.kv_length), dp(s.kv_length);
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < s.q_length; ++i) {
        const std::int64_t kv_head = h * s.kv_heads / s.heads, row = (b * s.q_length + i) * s.heads + h;
        const auto key_row = [&](std::int64_t j) { return (b * s.kv_length + j) * s.kv_heads + kv_head; };
        const double *of_q = &q[row * s.qk_head_dim], *of_do = &d_o[row * s.v_head_dim];
        double sum = 0, delta = 0, *o = &r.o[row * s.v_head_dim];
        for (std::int64_t j = 0; j < s.kv_length; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < s.qk_head_dim; ++d)
            score += scale * of_q[d] * k[key_row(j) * s.qk_head_dim + d];
          if (bias.table) score += table[bucket(s, bias, i, j) * s.heads + h];
          p[j] = sees(s, i, j) ? std::exp(score) : 0;
          sum += p[j];
        }
        r.lse[(b * s.heads + h) * s.q_length + i] = std::log(sum);
        if (sum == 0) continue;
        for (std::int64_t j = 0; j < s.kv_length; ++j) {
          p[j] /= sum;
          dp[j] = 0;
          for (std::int64_t d = 0; d < s.v_head_dim; ++d) {
            const std::int64_t at = key_row(j) * s.v_head_dim + d;
            o[d] += p[j] * v[at];
            dp[j] += of_do[d] * v[at];
            r.dv[at] += p[j] * of_do[d];
          }
          delta += p[j] * dp[j];
        }
        for (std::int64_t j = 0; j < s.kv_length; ++j) {
          const double ds = p[j] * (dp[j] - delta);
          if (bias.table) r.dtable[bucket(s, bias, i, j) * s.heads + h] += ds;
          for (std::int64_t d = 0; d < s.qk_head_dim; ++d) {
            r.dq[row * s.qk_head_dim + d] += scale * ds * k[key_row(j) * s.qk_head_dim + d];
            r.dk[key_row(j) * s.qk_head_dim + d] += scale * ds * of_q[d];
          }
        }
      }
  return r;
}
template <class T>
AttentionReference attention_reference(const AttentionOperands<T>& a) {
  Doubles table;
  for (std::int64_t i = 0; a.bias.table && i < a.bias.buckets * a.shape.heads; ++i)
    table.push_back(static_cast<double>(a.bias.table[i]));
  return attention_reference(a.shape, a.bias, doubles(a.q), doubles(a.k), doubles(a.v), doubles(a.d_o), table);
}

}  // namespace tandem::cpu
