// Measured durations by kind and shape of work: as measured where the shape was, interpolated between shapes.
#include "core/cost/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/cost/calibration.h"

namespace tandem {
namespace {

constexpr std::size_t neighbours = 4;

Phase measured_phase(Phase phase) { return phase == Phase::Recompute ? Phase::Forward : phase; }

// What the time is proportional to in the large.
double amount(MeasuredWork work, const MeasuredShape& s) {
  return work == MeasuredWork::Pass ? s[1] : s[0] * s[1] * s[2] * s[3];
}

double distance(const MeasuredShape& a, const MeasuredShape& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(std::log(a[i] / b[i]), 2);
  return std::sqrt(sum);
}

Seconds between_sizes(std::vector<MeasuredTime> times, double size) {
  std::sort(times.begin(), times.end(),
            [](const MeasuredTime& a, const MeasuredTime& b) { return a.shape[0] < b.shape[0]; });
  if (size <= times.front().shape[0]) return times.front().time;
  const auto above =
      std::find_if(times.begin(), times.end(), [&](const MeasuredTime& t) { return t.shape[0] >= size; });
  if (above == times.end()) return times.back().time * (size / times.back().shape[0]);
  const MeasuredTime &low = *(above - 1), &high = *above;
  const double way = std::log(size / low.shape[0]) / std::log(high.shape[0] / low.shape[0]);
  return low.time * std::pow(high.time / low.time, way);
}

Seconds between_shapes(MeasuredWork work, std::vector<MeasuredTime> times, const MeasuredShape& shape) {
  const auto nearer = [&](const MeasuredTime& a, const MeasuredTime& b) {
    return distance(a.shape, shape) < distance(b.shape, shape);
  };
  const std::size_t count = std::min(neighbours, times.size());
  std::partial_sort(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count), times.end(), nearer);
  double weights = 0, sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = std::pow(distance(times[i].shape, shape), -2);
    weights += weight;
    sum += weight * std::log(times[i].time.value / amount(work, times[i].shape));
  }
  return Seconds(std::exp(sum / weights) * amount(work, shape));
}

}  // namespace

std::string_view name(MeasuredWork work) {
  constexpr std::array<std::string_view, 5> names = {"product", "attention", "pass", "collective", "message"};
  return names[static_cast<std::size_t>(work)];
}

MeasuredKind kind_of(const Compute& work) {
  MeasuredKind kind{.phase = measured_phase(work.phase)};
  if (const auto* product = std::get_if<MatrixProduct>(&work.kernel)) {
    kind.work = MeasuredWork::Product;
    kind.dtype = product->input;
    kind.grouped = product->grouped;
  } else if (const auto* attention = std::get_if<FusedAttention>(&work.kernel)) {
    kind.work = MeasuredWork::Attention;
    kind.dtype = attention->dtype;
    kind.mask = attention->mask;
    kind.phase = attention->backward ? Phase::InputGradient : Phase::Forward;
  } else {
    kind.pass = std::get<MemoryPass>(work.kernel).kind;
  }
  return kind;
}

MeasuredShape shape_of(const Compute& work) {
  const auto number = [](std::int64_t n) { return std::max(1.0, static_cast<double>(n)); };
  if (const auto* p = std::get_if<MatrixProduct>(&work.kernel))
    return {number(p->m), number(p->n), number(p->k), number(p->batch)};
  if (const auto* a = std::get_if<FusedAttention>(&work.kernel)) {
    const std::int64_t keys = a->window > 0 ? std::min(a->window, a->kv_length) : a->kv_length;
    return {number(a->batch * a->heads), number(a->q_length), number(keys), number(a->qk_head_dim)};
  }
  const auto& pass = std::get<MemoryPass>(work.kernel);
  return {std::max(1.0, pass.elements), std::max(1.0, pass.bytes.value), 1, 1};
}

MeasuredKind kind_of(const Collective& work, Algorithm algorithm, std::size_t members) {
  return {.work = MeasuredWork::Collective,
          .collective = work.kind,
          .algorithm = algorithm,
          .members = static_cast<int>(members)};
}
MeasuredShape shape_of(Bytes size) { return {std::max(1.0, size.value), 1, 1, 1}; }

ProfileAnswer look_up(const ProfileRow& row, const MeasuredShape& shape) {
  check(!row.times.empty(), "a table has entries");
  const auto nearest =
      std::min_element(row.times.begin(), row.times.end(), [&](const MeasuredTime& a, const MeasuredTime& b) {
        return distance(a.shape, shape) < distance(b.shape, shape);
      });
  // Sizes are written with nine digits.
  if (distance(nearest->shape, shape) < 1e-7) return {nearest->time, true, *nearest};
  const bool size_alone = row.kind.work == MeasuredWork::Collective || row.kind.work == MeasuredWork::Message;
  return {size_alone ? between_sizes(row.times, shape[0]) : between_shapes(row.kind.work, row.times, shape),
          false, *nearest};
}

std::string text(const MeasuredKind& kind) {
  switch (kind.work) {
    case MeasuredWork::Product:
      return fmt::format("{}product {} {}", kind.grouped ? "grouped " : "", name(kind.dtype), name(kind.phase));
    case MeasuredWork::Attention:
      return fmt::format("{} attention {} {}", kind.mask == AttentionMask::Causal ? "causal" : "full",
                         name(kind.dtype), name(kind.phase));
    case MeasuredWork::Pass:
      return fmt::format("{} pass {}", name(kind.pass), name(kind.phase));
    case MeasuredWork::Collective:
      return fmt::format("{} {} over {}", name(kind.collective), name(kind.algorithm), kind.members);
    case MeasuredWork::Message:
      break;
  }
  return "message";
}

std::string text(const MeasuredShape& shape) {
  std::size_t used = shape.size();
  while (used > 1 && shape[used - 1] == 1) --used;
  std::string result;
  for (std::size_t i = 0; i < used; ++i) result += fmt::format("{}{:.9g}", i > 0 ? " x " : "", shape[i]);
  return result;
}

std::optional<MeasuredShape> parse_shape(std::string_view typed) {
  MeasuredShape shape{1, 1, 1, 1};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), shape[i]);
    if (error != std::errc() || !std::isfinite(shape[i]) || shape[i] < 1) return std::nullopt;
    typed.remove_prefix(static_cast<std::size_t>(end - typed.data()));
    if (typed.empty()) return shape;
    if (!typed.starts_with(" x ")) return std::nullopt;
    typed.remove_prefix(3);
  }
  return std::nullopt;
}

}  // namespace tandem
