// Names of the choices in a plan, and where a key was typed.
#include "core/plan/plan_spec.h"

#include <array>

namespace tandem {
namespace {

constexpr std::array kScheduleKinds = {ScheduleKind::GPipe,       ScheduleKind::OneForwardOneBackward,
                                       ScheduleKind::Interleaved, ScheduleKind::ZeroBubbleH1,
                                       ScheduleKind::ZeroBubbleV, ScheduleKind::DualPipe};

}  // namespace

std::string_view name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::GPipe:
      return "gpipe";
    case ScheduleKind::OneForwardOneBackward:
      return "1f1b";
    case ScheduleKind::Interleaved:
      return "interleaved";
    case ScheduleKind::ZeroBubbleH1:
      return "zb-h1";
    case ScheduleKind::ZeroBubbleV:
      return "zb-v";
    case ScheduleKind::DualPipe:
      return "dualpipe";
  }
  return "?";
}

std::optional<ScheduleKind> parse_schedule_kind(std::string_view text) {
  for (ScheduleKind kind : kScheduleKinds)
    if (name(kind) == text) return kind;
  return std::nullopt;
}

// A key that nobody typed belongs to the file as a whole, where there is one.
Where PlanSpec::where_of(const std::string& key) const {
  if (const auto found = where.find(key); found != where.end()) return found->second;
  for (const auto& [other, place] : where)
    if (!place.file.empty()) return {.file = place.file};
  return {};
}

}  // namespace tandem
