// Flash attention, forward: one tile of queries against all tiles of keys, with the softmax rescaled as it
// goes.
#include <algorithm>
#include <cmath>

#include "core/problem/problem.h"
#include "exec/cpu/kernels/attention.h"
#include "exec/cpu/kernels/attention_mask.h"
#include "exec/cpu/kernels/exponential.h"
#include "exec/cpu/kernels/parallel.h"
#include "exec/cpu/kernels/relative_bias.h"

namespace tandem::cpu {
namespace {

// The running softmax of a tile of queries.
struct RunningSoftmax {
  float maximum[tile];
  float sum[tile][lanes];  // of exponentials under the maximum, still to be added over lanes
  float fade[tile];        // what the latest tile of keys does to what was summed before it
};

// Turns scores [rows, 64] into exponentials under the new maxima.
void add_scores(std::int64_t rows, float* scores, RunningSoftmax& softmax) {
  float shift[tile];
  for (std::int64_t i = 0; i < rows; ++i) {
    float top = softmax.maximum[i];
#pragma omp simd reduction(max : top)
    for (std::int64_t j = 0; j < tile; ++j) top = larger(top, scores[i * tile + j]);
    shift[i] = top;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < rows; ++i) {
    const float top = shift[i];
    shift[i] = top == minus_infinity ? 0 : top;
    softmax.fade[i] = exponential(softmax.maximum[i] - shift[i]);
    softmax.maximum[i] = top;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = scores + i * tile;
#pragma omp simd
    for (std::int64_t j = 0; j < tile; ++j) row[j] = exponential(row[j] - shift[i]);
    const Vector added = load(row) + load(row + lanes) + load(row + 2 * lanes) + load(row + 3 * lanes);
    store(load(softmax.sum[i]) * softmax.fade[i] + added, softmax.sum[i]);
  }
}

float total(const float* sums) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < lanes; ++j) sum += sums[j];
  return sum;
}

// One row's result into o and lse, or merged with the result of earlier blocks by the weights of their sums.
template <class T>
void store_row(Write write, std::int64_t width, const float* from, float maximum, float sum, T* o, float& lse) {
  const float block_lse = sum > 0 ? maximum + std::log(sum) : minus_infinity;
  const float inverse = sum > 0 ? 1 / sum : 0;
  if (write == Write::Replace) {
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) o[j] = rounded<T>(from[j] * inverse);
    lse = block_lse;
    return;
  }
  const float top = std::max(lse, block_lse);
  if (top == minus_infinity) return;
  const float old_weight = exponential(lse - top), new_weight = exponential(block_lse - top);
  const float total = old_weight + new_weight, keep = old_weight / total, add = inverse * new_weight / total;
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) o[j] = rounded<T>(to_float(o[j]) * keep + from[j] * add);
  lse = top + std::log(total);
}

template <class T>
class ForwardPass {
 public:
  ForwardPass(const AttentionShape& shape, const RelativeBias& bias, Heads<const T> q, Heads<const T> k,
              Heads<const T> v, Write write, Heads<T> o, float* lse, Scratch& scratch)
      : shape_(shape), bias_(bias), q_(q), k_(k), v_(v), write_(write), o_(o), lse_(lse) {
    const std::int64_t q_positions = positions_size(shape.q_length),
                       kv_positions = positions_size(shape.kv_length);
    const std::int64_t distances = rounded_up(shape.heads * distance_count(bias), lanes);
    float* memory = scratch.floats(
        static_cast<std::size_t>(q_positions + kv_positions + distances + team_threads() * thread_size()));
    queries_ = tile_positions(shape.q_positions, shape.q_length, memory);
    keys_ = tile_positions(shape.kv_positions, shape.kv_length, memory + q_positions);
    by_distance_ = memory + q_positions + kv_positions;
    bias_by_distance(bias, shape.heads, by_distance_);
    threads_ = by_distance_ + distances;
  }

  void run() {
    const std::int64_t ratio = shape_.heads / shape_.kv_heads;
    // Heads that share keys share their packing, unless that leaves threads without work.
    const std::int64_t together = shape_.batch * shape_.kv_heads >= 4 * team_threads() ? ratio : 1;
    const std::int64_t groups = shape_.heads / together;
    for_tasks(shape_.batch * groups, [&](std::int64_t task, int place) {
      const Tiles tiles = memory_of(place);
      const std::int64_t b = task / groups, head = task % groups * together;
      load_keys(tiles, b, head / ratio);
      for (std::int64_t h = head; h < head + together; ++h)
        for (std::int64_t t = 0; t < tile_count(shape_.q_length); ++t) query_tile(tiles, b, h, t);
    });
  }

 private:
  // fp32 memory of one thread. k lies transposed, [tiles][qk_head_dim][64]; v as [tiles][64][v_width].
  struct Tiles {
    float *k, *v, *q, *scores, *o;
  };

  std::int64_t q_width() const { return rounded_up(shape_.qk_head_dim, lanes); }
  std::int64_t v_width() const { return rounded_up(shape_.v_head_dim, lanes); }
  std::int64_t thread_size() const {
    const std::int64_t keys = tile_count(shape_.kv_length) * tile;
    return keys * (shape_.qk_head_dim + v_width()) + tile * (q_width() + tile + v_width());
  }
  Tiles memory_of(int place) const {
    const std::int64_t keys = tile_count(shape_.kv_length) * tile;
    Tiles tiles;
    tiles.k = threads_ + place * thread_size();
    tiles.v = tiles.k + keys * shape_.qk_head_dim;
    tiles.q = tiles.v + keys * v_width();
    tiles.scores = tiles.q + tile * q_width();
    tiles.o = tiles.scores + tile * tile;
    return tiles;
  }

  void load_keys(const Tiles& tiles, std::int64_t b, std::int64_t kv_head) const {
    const T* k = k_.data + b * k_.batch_stride + kv_head * shape_.qk_head_dim;
    const T* v = v_.data + b * v_.batch_stride + kv_head * shape_.v_head_dim;
    for (std::int64_t first = 0; first < shape_.kv_length; first += tile) {
      const std::int64_t rows = std::min(tile, shape_.kv_length - first);
      load_transposed(k + first * k_.row_stride, k_.row_stride, rows, shape_.qk_head_dim,
                      tiles.k + first * shape_.qk_head_dim);
      load_rows(v + first * v_.row_stride, v_.row_stride, rows, shape_.v_head_dim, 1,
                tiles.v + first * v_width(), tile, v_width());
    }
  }

  void query_tile(const Tiles& tiles, std::int64_t b, std::int64_t head, std::int64_t t) const {
    const std::int64_t first = t * tile, rows = std::min(tile, shape_.q_length - first),
                       padded = rounded_up(rows, 4);
    load_rows(q_.data + b * q_.batch_stride + first * q_.row_stride + head * shape_.qk_head_dim, q_.row_stride,
              rows, shape_.qk_head_dim, shape_.scale, tiles.q, padded, q_width());
    std::fill_n(tiles.o, padded * v_width(), 0.0f);
    RunningSoftmax softmax = {};
    std::fill_n(softmax.maximum, tile, minus_infinity);
    for (std::int64_t key_tile = 0; key_tile < tile_count(shape_.kv_length); ++key_tile)
      add_keys(tiles, head, t, key_tile, rows, softmax);
    T* o = o_.data + b * o_.batch_stride + first * o_.row_stride + head * shape_.v_head_dim;
    float* lse = lse_ + (b * shape_.heads + head) * shape_.q_length + first;
    for (std::int64_t i = 0; i < rows; ++i)
      store_row(write_, shape_.v_head_dim, tiles.o + i * v_width(), softmax.maximum[i], total(softmax.sum[i]),
                o + i * o_.row_stride, lse[i]);
  }

  void add_keys(const Tiles& tiles, std::int64_t head, std::int64_t query_tile, std::int64_t key_tile,
                std::int64_t rows, RunningSoftmax& softmax) const {
    const std::int64_t first = key_tile * tile, filled = std::min(tile, shape_.kv_length - first);
    const Coverage covered = coverage(shape_, queries_.range[query_tile], keys_.range[key_tile], filled < tile);
    if (covered == Coverage::Hidden) return;
    const std::int32_t *queries = queries_.position + query_tile * tile, *keys = keys_.position + first;
    const Bands parts = bands_of(shape_, covered, rows, rounded_up(filled, lanes), queries, keys);
    for (std::int64_t g = 0; g < bands; ++g) {
      const auto [count, begin, end] = parts.band[g];
      multiply<Into::Replaced>(
          count, end - begin, shape_.qk_head_dim, {tiles.q + g * lanes * q_width(), q_width(), 1},
          tiles.k + first * shape_.qk_head_dim + begin, tile, tiles.scores + g * lanes * tile + begin, tile);
    }
    if (bias_.table)
      add_bias(bias_, rows, filled, queries, keys, by_distance_ + head * distance_count(bias_), tiles.scores);
    if (covered == Coverage::Partial) hide(shape_, rows, queries, keys, tiles.scores);
    add_scores(rows, tiles.scores, softmax);
    for (std::int64_t g = 0; g < bands; ++g) {
      const auto [count, begin, end] = parts.band[g];
      multiply<Into::Scaled>(count, v_width(), end - begin, {tiles.scores + g * lanes * tile + begin, tile, 1},
                             tiles.v + (first + begin) * v_width(), v_width(), tiles.o + g * lanes * v_width(),
                             v_width(), softmax.fade + g * lanes);
    }
  }

  const AttentionShape& shape_;
  const RelativeBias& bias_;
  Heads<const T> q_, k_, v_;
  Write write_;
  Heads<T> o_;
  float* lse_;
  TiledPositions queries_, keys_;
  float *by_distance_, *threads_;
};

}  // namespace

template <class T>
void attention_forward(const AttentionShape& shape, const RelativeBias& bias, Heads<const T> q,
                       Heads<const T> k, Heads<const T> v, Write write, Heads<T> o, float* lse,
                       Scratch& scratch) {
  check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0, "query heads are a multiple of kv heads");
  ForwardPass<T>(shape, bias, q, k, v, write, o, lse, scratch).run();
}

#define TANDEM_INSTANTIATE(T)                                                                    \
  template void attention_forward<T>(const AttentionShape&, const RelativeBias&, Heads<const T>, \
                                     Heads<const T>, Heads<const T>, Write, Heads<T>, float*, Scratch&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::cpu
