// The index of a checkpoint, and which checkpoints a folder holds.
#include "exec/training/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/problem/problem.h"
#include "exec/training/checkpoint_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array<std::string_view, 4> value_names = {"weight", "exp_avg", "exp_avg_sq", "momentum"};

// 64 bits as JSON's readers keep them: their numbers are doubles.
std::string hexadecimal(std::uint64_t value) { return fmt::format("{:016x}", value); }
std::uint64_t from_hexadecimal(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::out_of_range("'" + text + "' is no number");
  return value;
}

CheckpointIndex index_in(const json& root) {
  CheckpointIndex index;
  CheckpointMeta& meta = index.meta;
  meta.model = root.at("model").get<std::string>();
  meta.model_digest = from_hexadecimal(root.at("model_digest").get<std::string>());
  meta.step = root.at("step").get<std::int64_t>();
  meta.seed = from_hexadecimal(root.at("seed").get<std::string>());
  meta.samples = root.at("samples").get<std::int64_t>();
  meta.data = root.at("data").get<std::string>();
  meta.plan = root.at("plan").get<std::string>();
  for (const json& file : root.at("files"))
    index.files.push_back({file.at("name").get<std::string>(), file.at("bytes").get<std::uint64_t>(),
                           from_hexadecimal(file.at("checksum").get<std::string>())});
  return index;
}

void check_sizes(const CheckpointIndex& index, const std::string& folder) {
  Problems problems;
  for (const CheckpointFile& file : index.files) {
    const std::string path = folder + "/" + file.name;
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (error)
      problems.add({.file = path}, fmt::format("a file of the checkpoint is missing: {}", error.message()));
    else if (bytes != file.bytes)
      problems.add({.file = path},
                   fmt::format("a file of the checkpoint has {} bytes instead of {}", bytes, file.bytes),
                   "go on from an earlier checkpoint");
  }
  problems.throw_if_any();
}

// Step of an entry with the given beginning and end around its number.
std::optional<std::int64_t> step_in(const std::string& entry, std::string_view begin, std::string_view end) {
  if (!entry.starts_with(begin) || !entry.ends_with(end) || entry.size() < begin.size() + end.size())
    return std::nullopt;
  std::int64_t step = 0;
  const char* last = entry.data() + entry.size() - end.size();
  const auto [stop, error] = std::from_chars(entry.data() + begin.size(), last, step);
  if (error != std::errc() || stop != last || step < 0) return std::nullopt;
  return step;
}

struct Entry {
  std::int64_t step = 0;
  std::string path;
};
std::vector<Entry> entries(const std::string& dir, std::string_view begin, std::string_view end) {
  std::vector<Entry> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error))
    if (const auto step = step_in(entry.path().filename().string(), begin, end))
      found.push_back({*step, entry.path().string()});
  return found;
}

bool is_complete(const std::string& folder) {
  try {
    read_checkpoint_index(folder);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// By descending step.
std::vector<Entry> complete_checkpoints(const std::string& dir) {
  std::vector<Entry> found = entries(dir, "step-", "");
  std::erase_if(found, [](const Entry& entry) { return !is_complete(entry.path); });
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.step > b.step; });
  return found;
}

}  // namespace

std::string_view name(CheckpointValue value) { return value_names[static_cast<std::size_t>(value)]; }

std::optional<CheckpointValue> parse_checkpoint_value(std::string_view text) {
  const auto at = std::find(value_names.begin(), value_names.end(), text);
  if (at == value_names.end()) return std::nullopt;
  return static_cast<CheckpointValue>(at - value_names.begin());
}

std::string checkpoint_folder(const std::string& dir, std::int64_t step) {
  return fmt::format("{}/step-{:06}", dir, step);
}

std::string unfinished_checkpoint_folder(const std::string& dir, std::int64_t step) {
  return fmt::format("{}/.step-{:06}.part", dir, step);
}

void write_checkpoint_index(const std::string& folder, const CheckpointIndex& index) {
  json files = json::array();
  for (const CheckpointFile& file : index.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"checksum", hexadecimal(file.checksum)}});
  const CheckpointMeta& meta = index.meta;
  const json root = {{"version", checkpoint_version},
                     {"model", meta.model},
                     {"model_digest", hexadecimal(meta.model_digest)},
                     {"step", meta.step},
                     {"seed", hexadecimal(meta.seed)},
                     {"samples", meta.samples},
                     {"data", meta.data},
                     {"plan", meta.plan},
                     {"files", std::move(files)}};
  const std::string path = folder + "/index.json";
  errno = EIO;  // where the stream fails without a call that says why
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << root.dump(1) << '\n';
  out.close();
  if (!out) fail_call("write", path);
  synchronise(path);
}

CheckpointIndex read_checkpoint_index(const std::string& folder) {
  const std::string path = folder + "/index.json";
  const std::string text = read_text_file(path);
  CheckpointIndex index;
  try {
    const json root = json::parse(text);
    const auto version = root.at("version").get<std::int64_t>();
    if (version != checkpoint_version)
      refuse({.file = path}, fmt::format("a checkpoint of version {}, and this program reads version {}",
                                         version, checkpoint_version));
    index = index_in(root);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& fault) {  // JSON's own, and numbers that are none
    refuse({.file = path}, fmt::format("this is not the index of a checkpoint: {}", fault.what()));
  }
  check_sizes(index, folder);
  return index;
}

std::optional<std::string> latest_checkpoint(const std::string& dir) {
  const std::vector<Entry> complete = complete_checkpoints(dir);
  if (complete.empty()) return std::nullopt;
  return complete.front().path;
}

void keep_last_checkpoints(const std::string& dir, std::size_t count) {
  const std::vector<Entry> complete = complete_checkpoints(dir);
  std::vector<std::string> doomed;
  for (std::size_t i = count; i < complete.size(); ++i) doomed.push_back(complete[i].path);
  for (const Entry& entry : entries(dir, ".step-", ".part"))
    if (!complete.empty() && entry.step <= complete.front().step) doomed.push_back(entry.path);
  for (const std::string& folder : doomed) {
    std::error_code error;
    // Without its index it is no checkpoint, whatever interrupts the rest.
    fs::remove(folder + "/index.json", error);
    if (!error) fs::remove_all(folder, error);
    if (error) throw BackendError(fmt::format("checkpoint: remove {}: {}", folder, error.message()));
  }
}

}  // namespace tandem
