// Flash attention, backward: probabilities are formed again from scores and log-sum-exps, tile by tile.
#include <algorithm>

#include "core/problem/problem.h"
#include "exec/cpu/kernels/attention.h"
#include "exec/cpu/kernels/attention_mask.h"
#include "exec/cpu/kernels/exponential.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/relative_bias.h"

namespace tandem::cpu {
namespace {

template <class T>
float dot(std::int64_t n, const T* a, const T* b) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += to_float(a[i]) * to_float(b[i]);
  return sum;
}

template <class T>
void store_rows(Write write, std::int64_t rows, std::int64_t columns, float factor, const float* from,
                std::int64_t from_stride, T* to, std::int64_t to_stride) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* in = from + i * from_stride;
    T* out = to + i * to_stride;
    if (write == Write::Replace) {
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) out[j] = rounded<T>(factor * in[j]);
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) out[j] = rounded<T>(to_float(out[j]) + factor * in[j]);
    }
  }
}

template <class T>
class BackwardPass {
 public:
  BackwardPass(const AttentionShape& shape, const RelativeBias& bias, Heads<const T> q, Heads<const T> k,
               Heads<const T> v, Heads<const T> o, Heads<const T> d_o, const float* lse,
               const AttentionGradients<T>& gradients, Scratch& scratch)
      : shape_(shape), bias_(bias), q_(q), k_(k), v_(v), o_(o), d_o_(d_o), lse_(lse), gradients_(gradients) {
    const std::int64_t q_positions = positions_size(shape.q_length),
                       kv_positions = positions_size(shape.kv_length);
    const std::int64_t distances = shape.heads * distance_count(bias);
    const std::int64_t distance_gradients = bias.gradient ? shape.batch * distances : 0;
    const std::int64_t biases = rounded_up(distances + distance_gradients, lanes);
    float* memory = scratch.floats(
        static_cast<std::size_t>(q_positions + kv_positions + biases + team_threads() * thread_size()));
    queries_ = tile_positions(shape.q_positions, shape.q_length, memory);
    keys_ = tile_positions(shape.kv_positions, shape.kv_length, memory + q_positions);
    by_distance_ = memory + q_positions + kv_positions;
    bias_by_distance(bias, shape.heads, by_distance_);
    distance_gradients_ = by_distance_ + distances;
    std::fill_n(distance_gradients_, distance_gradients, 0.0f);
    threads_ = by_distance_ + biases;
  }

  // One task a kv head, so that the gradients of its query heads are summed in their order.
  void run() {
    const std::int64_t ratio = shape_.heads / shape_.kv_heads;
    for_tasks(shape_.batch * shape_.kv_heads, [&](std::int64_t task, int place) {
      const Tiles tiles = memory_of(place);
      const std::int64_t b = task / shape_.kv_heads, kv_head = task % shape_.kv_heads;
      load_keys(tiles, b, kv_head);
      for (std::int64_t h = kv_head * ratio; h < (kv_head + 1) * ratio; ++h)
        for (std::int64_t t = 0; t < tile_count(shape_.q_length); ++t) query_tile(tiles, b, h, t);
      const auto [dq, dk, dv, write_dq, write_dkv] = gradients_;
      store_rows(write_dkv, shape_.kv_length, shape_.qk_head_dim, 1, tiles.dk, q_width(),
                 dk.data + b * dk.batch_stride + kv_head * shape_.qk_head_dim, dk.row_stride);
      store_rows(write_dkv, shape_.kv_length, shape_.v_head_dim, 1, tiles.dv, v_width(),
                 dv.data + b * dv.batch_stride + kv_head * shape_.v_head_dim, dv.row_stride);
    });
    if (bias_.gradient) add_bias_gradient(bias_, shape_.batch, shape_.heads, distance_gradients_);
  }

 private:
  // fp32 memory of one thread: keys and values of the whole block, transposed ones as [tiles][head dim][64].
  struct Tiles {
    float *k, *k_transposed, *v_transposed, *dk, *dv;
    float *q, *d_o, *dq, *p, *ds, *lse, *delta;  // of one tile of queries; q scaled
  };

  std::int64_t q_width() const { return rounded_up(shape_.qk_head_dim, lanes); }
  std::int64_t v_width() const { return rounded_up(shape_.v_head_dim, lanes); }
  std::int64_t keys() const { return tile_count(shape_.kv_length) * tile; }
  std::int64_t thread_size() const {
    return keys() * (2 * q_width() + v_width() + shape_.qk_head_dim + shape_.v_head_dim) +
           tile * (2 * q_width() + v_width() + 2 * tile + 2);
  }
  Tiles memory_of(int place) const {
    Tiles tiles;
    float* next = threads_ + place * thread_size();
    const auto take = [&](std::int64_t floats) {
      float* taken = next;
      next += floats;
      return taken;
    };
    tiles.k = take(keys() * q_width());
    tiles.k_transposed = take(keys() * shape_.qk_head_dim);
    tiles.v_transposed = take(keys() * shape_.v_head_dim);
    tiles.dk = take(keys() * q_width());
    tiles.dv = take(keys() * v_width());
    tiles.q = take(tile * q_width());
    tiles.d_o = take(tile * v_width());
    tiles.dq = take(tile * q_width());
    tiles.p = take(tile * tile);
    tiles.ds = take(tile * tile);
    tiles.lse = take(tile);
    tiles.delta = take(tile);
    return tiles;
  }

  void load_keys(const Tiles& tiles, std::int64_t b, std::int64_t kv_head) const {
    const T* k = k_.data + b * k_.batch_stride + kv_head * shape_.qk_head_dim;
    const T* v = v_.data + b * v_.batch_stride + kv_head * shape_.v_head_dim;
    for (std::int64_t first = 0; first < shape_.kv_length; first += tile) {
      const std::int64_t rows = std::min(tile, shape_.kv_length - first);
      load_rows(k + first * k_.row_stride, k_.row_stride, rows, shape_.qk_head_dim, 1,
                tiles.k + first * q_width(), tile, q_width());
      load_transposed(k + first * k_.row_stride, k_.row_stride, rows, shape_.qk_head_dim,
                      tiles.k_transposed + first * shape_.qk_head_dim);
      load_transposed(v + first * v_.row_stride, v_.row_stride, rows, shape_.v_head_dim,
                      tiles.v_transposed + first * shape_.v_head_dim);
    }
    std::fill_n(tiles.dk, keys() * q_width(), 0.0f);
    std::fill_n(tiles.dv, keys() * v_width(), 0.0f);
  }

  void query_tile(const Tiles& tiles, std::int64_t b, std::int64_t head, std::int64_t t) const {
    const std::int64_t first = t * tile, rows = std::min(tile, shape_.q_length - first),
                       padded = rounded_up(rows, 4);
    const T* o = o_.data + b * o_.batch_stride + first * o_.row_stride + head * shape_.v_head_dim;
    const T* d_o = d_o_.data + b * d_o_.batch_stride + first * d_o_.row_stride + head * shape_.v_head_dim;
    const float* lse = lse_ + (b * shape_.heads + head) * shape_.q_length + first;
    load_rows(q_.data + b * q_.batch_stride + first * q_.row_stride + head * shape_.qk_head_dim, q_.row_stride,
              rows, shape_.qk_head_dim, shape_.scale, tiles.q, padded, q_width());
    load_rows(d_o, d_o_.row_stride, rows, shape_.v_head_dim, 1, tiles.d_o, padded, v_width());
    std::fill_n(tiles.dq, padded * q_width(), 0.0f);
    for (std::int64_t i = 0; i < rows; ++i) {
      tiles.delta[i] = dot(shape_.v_head_dim, o + i * o_.row_stride, d_o + i * d_o_.row_stride);
      // A query that saw no key at all: every exponential below becomes 0.
      tiles.lse[i] = lse[i] == minus_infinity ? 1e30f : lse[i];
    }
    for (std::int64_t key_tile = 0; key_tile < tile_count(shape_.kv_length); ++key_tile)
      add_keys(tiles, b, head, t, key_tile, rows);
    const Heads<T>& dq = gradients_.dq;
    store_rows(gradients_.write_dq, rows, shape_.qk_head_dim, shape_.scale, tiles.dq, q_width(),
               dq.data + b * dq.batch_stride + first * dq.row_stride + head * shape_.qk_head_dim,
               dq.row_stride);
  }

  // With p = exp(scores - lse) and dp = do v^T: ds = p (dp - delta), dv += p^T do, dk += ds^T q, dq += ds k.
  void add_keys(const Tiles& tiles, std::int64_t b, std::int64_t head, std::int64_t query_tile,
                std::int64_t key_tile, std::int64_t rows) const {
    const std::int64_t first = key_tile * tile, filled = std::min(tile, shape_.kv_length - first);
    const Coverage covered = coverage(shape_, queries_.range[query_tile], keys_.range[key_tile], filled < tile);
    if (covered == Coverage::Hidden) return;
    const std::int32_t *queries = queries_.position + query_tile * tile, *keys = keys_.position + first;
    const Bands parts = bands_of(shape_, covered, rows, rounded_up(filled, lanes), queries, keys);
    for (std::int64_t g = 0; g < bands; ++g) score_band(tiles, first, g, parts.band[g]);
    if (bias_.table)
      add_bias(bias_, rows, filled, queries, keys, by_distance_ + head * distance_count(bias_), tiles.p);
    if (covered == Coverage::Partial) hide(shape_, rows, queries, keys, tiles.p);
    softmax_backward(tiles, rows);
    if (bias_.gradient) {
      float* sums = distance_gradients_ + (b * shape_.heads + head) * distance_count(bias_);
      add_to_distances(bias_, rows, filled, queries, keys, tiles.ds, sums);
    }
    for (std::int64_t g = 0; g < bands; ++g) query_band(tiles, first, g, parts.band[g]);
    for (std::int64_t column = 0; column < filled; column += lanes)
      key_band(tiles, first, column, seeing_rows(parts, column, rows));
  }

  // p = q k^T and ds = do v^T of 16 queries.
  void score_band(const Tiles& tiles, std::int64_t first, std::int64_t g, const Band& band) const {
    const std::int64_t row = g * lanes, at = row * tile + band.begin, columns = band.end - band.begin;
    multiply<Into::Replaced>(band.rows, columns, shape_.qk_head_dim, {tiles.q + row * q_width(), q_width(), 1},
                             tiles.k_transposed + first * shape_.qk_head_dim + band.begin, tile, tiles.p + at,
                             tile);
    multiply<Into::Replaced>(band.rows, columns, shape_.v_head_dim, {tiles.d_o + row * v_width(), v_width(), 1},
                             tiles.v_transposed + first * shape_.v_head_dim + band.begin, tile, tiles.ds + at,
                             tile);
  }

  // dq += ds k of 16 queries.
  void query_band(const Tiles& tiles, std::int64_t first, std::int64_t g, const Band& band) const {
    const std::int64_t row = g * lanes;
    multiply<Into::Added>(
        band.rows, q_width(), band.end - band.begin, {tiles.ds + row * tile + band.begin, tile, 1},
        tiles.k + (first + band.begin) * q_width(), q_width(), tiles.dq + row * q_width(), q_width());
  }

  // dv += p^T do and dk += ds^T q of 16 keys.
  void key_band(const Tiles& tiles, std::int64_t first, std::int64_t column, RowRange rows) const {
    const std::int64_t at = rows.begin * tile + column, depth = rows.end - rows.begin, key = first + column;
    if (depth <= 0) return;
    multiply<Into::Added>(lanes, v_width(), depth, {tiles.p + at, 1, tile}, tiles.d_o + rows.begin * v_width(),
                          v_width(), tiles.dv + key * v_width(), v_width());
    multiply<Into::Added>(lanes, q_width(), depth, {tiles.ds + at, 1, tile}, tiles.q + rows.begin * q_width(),
                          q_width(), tiles.dk + key * q_width(), q_width());
  }

  static void softmax_backward(const Tiles& tiles, std::int64_t rows) {
    for (std::int64_t i = 0; i < rows; ++i) {
      float *p = tiles.p + i * tile, *ds = tiles.ds + i * tile;
      const float lse = tiles.lse[i], delta = tiles.delta[i];
#pragma omp simd
      for (std::int64_t j = 0; j < tile; ++j) {
        p[j] = exponential(p[j] - lse);
        // Beyond its band ds was never written.
        ds[j] = p[j] > 0 ? p[j] * (ds[j] - delta) : 0;
      }
    }
  }

  const AttentionShape& shape_;
  const RelativeBias& bias_;
  Heads<const T> q_, k_, v_, o_, d_o_;
  const float* lse_;
  const AttentionGradients<T>& gradients_;
  TiledPositions queries_, keys_;
  float *by_distance_, *distance_gradients_, *threads_;
};

}  // namespace

template <class T>
void attention_backward(const AttentionShape& shape, const RelativeBias& bias, Heads<const T> q,
                        Heads<const T> k, Heads<const T> v, Heads<const T> o, Heads<const T> d_o,
                        const float* lse, const AttentionGradients<T>& gradients, Scratch& scratch) {
  check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0, "query heads are a multiple of kv heads");
  BackwardPass<T>(shape, bias, q, k, v, o, d_o, lse, gradients, scratch).run();
}

#define TANDEM_INSTANTIATE(T)                                                                         \
  template void attention_backward<T>(const AttentionShape&, const RelativeBias&, Heads<const T>,     \
                                      Heads<const T>, Heads<const T>, Heads<const T>, Heads<const T>, \
                                      const float*, const AttentionGradients<T>&, Scratch&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
