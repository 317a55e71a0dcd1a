// [[profile]] and [[cores]] rows of a calibration file.
#include "core/cost/profile_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units/text.h"

namespace tandem {
namespace {

// Sets `out` to the value of the enumeration, from its first to `last`, that is named as typed.
template <class Enum>
void read_choice(RowReader& row, std::string_view key, Enum last, Enum& out) {
  std::string typed;
  row.read(key, typed);
  if (typed.empty()) return;
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    names.emplace_back(name(static_cast<Enum>(i)));
    if (names.back() != typed) continue;
    out = static_cast<Enum>(i);
    return;
  }
  const std::string near = nearest_name(typed, names);
  row.complain(key, fmt::format("= \"{}\" is unknown", typed),
               near.empty() ? fmt::format("one of {}", fmt::join(names, ", ")) : "did you mean " + near + "?");
}

MeasuredKind read_kind(RowReader& row) {
  MeasuredKind kind;
  row.require("work");
  read_choice(row, "work", MeasuredWork::Message, kind.work);
  const bool product = kind.work == MeasuredWork::Product, attention = kind.work == MeasuredWork::Attention;
  if (product || attention) read_choice(row, "dtype", DType::Fp8, kind.dtype);
  if (product || attention || kind.work == MeasuredWork::Pass)
    read_choice(row, "phase", Phase::Update, kind.phase);
  if (product) row.read("grouped", kind.grouped);
  if (attention) {
    bool causal = false;
    row.read("causal", causal);
    kind.mask = causal ? AttentionMask::Causal : AttentionMask::Full;
  }
  if (kind.work == MeasuredWork::Pass) read_choice(row, "pass", PassKind::Copy, kind.pass);
  if (kind.work == MeasuredWork::Collective) {
    read_choice(row, "collective", CollectiveKind::Shift, kind.collective);
    read_choice(row, "algorithm", Algorithm::Pairwise, kind.algorithm);
    row.read("members", kind.members, 2, 1 << 20);
    if (kind.members == 0) row.complain("members", "is missing");
  }
  return kind;
}

// Times as a file spells them: nine digits, in a unit that reads well.
std::string exact_text(Seconds time) {
  if (time.value < 1e-3) return fmt::format("{:.9g} us", time.value * 1e6);
  if (time.value < 1) return fmt::format("{:.9g} ms", time.value * 1e3);
  return fmt::format("{:.9g} s", time.value);
}

std::string kind_to_toml(const MeasuredKind& kind) {
  std::string text = fmt::format("work = \"{}\"\n", name(kind.work));
  switch (kind.work) {
    case MeasuredWork::Product:
      text += fmt::format("dtype = \"{}\"\nphase = \"{}\"\n", name(kind.dtype), name(kind.phase));
      if (kind.grouped) text += "grouped = true\n";
      break;
    case MeasuredWork::Attention:
      text += fmt::format("dtype = \"{}\"\nphase = \"{}\"\ncausal = {}\n", name(kind.dtype), name(kind.phase),
                          kind.mask == AttentionMask::Causal);
      break;
    case MeasuredWork::Pass:
      text += fmt::format("pass = \"{}\"\nphase = \"{}\"\n", name(kind.pass), name(kind.phase));
      break;
    case MeasuredWork::Collective:
      text += fmt::format("collective = \"{}\"\nalgorithm = \"{}\"\nmembers = {}\n", name(kind.collective),
                          name(kind.algorithm), kind.members);
      break;
    case MeasuredWork::Message:
      break;
  }
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

ProfileRow read_profile_row(RowReader& row) {
  ProfileRow out;
  out.device = row.require("device");
  out.kind = read_kind(row);
  std::vector<std::pair<std::string, std::string>> times;
  row.read("times", times);
  for (const auto& [shape_text, time_text] : times) {
    const auto shape = parse_shape(shape_text);
    const auto time = parse_seconds(time_text);
    if (!shape)
      row.complain("times", fmt::format("has no shape \"{}\"", shape_text), "such as \"2048 x 768 x 768\"");
    else if (!time || time->value <= 0)
      row.complain("times", fmt::format("has no time \"{}\"", time_text), "such as \"4.0 us\"");
    else
      out.times.push_back({*shape, *time});
  }
  if (times.empty()) row.complain("times", "is missing or empty", "times = [[\"1024\", \"4.0 us\"]]");
  return out;
}

CoresRow read_cores_row(RowReader& row) {
  CoresRow out;
  out.device = row.require("device");
  row.read("count", out.count, 1, 1 << 20);
  row.read("threads", out.threads, 1, 1 << 20);
  row.read("communication", out.communication, 0, 1);
  row.read("jitter", out.jitter, 0, 1);
  return out;
}

std::string to_toml(const std::vector<CoresRow>& cores, const std::vector<ProfileRow>& profile) {
  std::string text;
  for (const CoresRow& row : cores) {
    text += fmt::format("[[cores]]\ndevice = {}\n", quoted(row.device));
    if (row.count > 0) text += fmt::format("count = {}\n", row.count);
    text += fmt::format("threads = {}\ncommunication = {:.3g}\njitter = {:.3g}\nsource = {}\n\n", row.threads,
                        row.communication, row.jitter, quoted(row.from.source));
  }
  for (const ProfileRow& row : profile) {
    text += fmt::format("[[profile]]\ndevice = {}\n{}times = [\n", quoted(row.device), kind_to_toml(row.kind));
    for (const MeasuredTime& time : row.times)
      text += fmt::format("  [\"{}\", \"{}\"],\n", tandem::text(time.shape), exact_text(time.time));
    text += fmt::format("]\nsource = {}\n\n", quoted(row.from.source));
  }
  return text;
}

}  // namespace tandem
