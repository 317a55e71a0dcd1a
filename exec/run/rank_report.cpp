// A report as bytes between processes of one program.
#include "exec/run/rank_report.h"

#include <cstring>

#include "core/problem/problem.h"

namespace tandem {
namespace {

struct Head {
  std::int64_t step;
  Nanoseconds start, end;
  double loss, gradient_norm;
  std::uint64_t arena_bytes, overflow_bytes, resident_bytes;
};

}  // namespace

std::vector<std::byte> packed(const RankReport& report) {
  const Head head{report.step,           report.start,         report.end,
                  report.loss,           report.gradient_norm, report.arena_bytes,
                  report.overflow_bytes, report.resident_bytes};
  const std::span<const std::byte> tasks = std::as_bytes(std::span(report.tasks));
  std::vector<std::byte> bytes(sizeof head + tasks.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  if (!tasks.empty()) std::memcpy(bytes.data() + sizeof head, tasks.data(), tasks.size());
  return bytes;
}

RankReport unpacked(std::span<const std::byte> bytes) {
  Head head{};
  check(bytes.size() >= sizeof head && (bytes.size() - sizeof head) % sizeof(CommunicationTimes) == 0,
        "a whole report");
  std::memcpy(&head, bytes.data(), sizeof head);
  RankReport report{head.step,           head.start,          head.end,
                    head.loss,           head.gradient_norm,  head.arena_bytes,
                    head.overflow_bytes, head.resident_bytes, {}};
  report.tasks.resize((bytes.size() - sizeof head) / sizeof(CommunicationTimes));
  if (!report.tasks.empty())
    std::memcpy(report.tasks.data(), bytes.data() + sizeof head, bytes.size() - sizeof head);
  return report;
}

}  // namespace tandem
