// A rank's file grows piece by piece; publishing gathers the footers into an index and renames the folder.
#include "exec/training/checkpoint_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "core/problem/problem.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::string file_name(std::uint32_t rank) { return fmt::format("rank-{:05}.bin", rank); }

[[noreturn]] void fail(const char* what, const std::string& path, const std::error_code& error) {
  throw BackendError(fmt::format("checkpoint: {} {}: {}", what, path, error.message()));
}

void remove(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) fail("remove", path, error);
}

// Files of the ranks that wrote one. What an interrupted run with more ranks left is removed.
std::vector<CheckpointFile> finished_files(const std::string& folder, std::uint32_t ranks) {
  std::vector<CheckpointFile> files;
  std::set<std::string> names;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string path = folder + "/" + file_name(rank);
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    const auto footer = read_footer(path);
    if (!footer) throw BackendError(fmt::format("checkpoint: {} is not complete", path));
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (error) fail("stat", path, error);
    files.push_back({file_name(rank), bytes, footer->checksum});
    names.insert(file_name(rank));
  }
  std::vector<std::string> strangers;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (!names.contains(entry.path().filename().string())) strangers.push_back(entry.path().string());
  if (error) fail("list", folder, error);
  for (const std::string& path : strangers) remove(path);
  return files;
}

// The old folder, if there is one, leaves its name at the moment at which the new one takes it.
void rename_over(const std::string& from, const std::string& to) {
  std::error_code error;
  if (!fs::exists(to, error)) {
    if (::rename(from.c_str(), to.c_str()) != 0) fail_call("rename", to);
    return;
  }
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return remove(from);
  if (errno != EINVAL && errno != ENOSYS) fail_call("rename", to);
  // This file system cannot exchange two names: the old one goes first.
  remove(to);
  if (::rename(from.c_str(), to.c_str()) != 0) fail_call("rename", to);
}

}  // namespace

CheckpointWriter::CheckpointWriter(const std::string& dir, std::int64_t step, std::uint32_t rank)
    : folder_(unfinished_checkpoint_folder(dir, step)), path_(folder_ + "/" + file_name(rank)) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail("mkdir", folder_, error);
  // An interrupted attempt at the same step may have left one.
  remove(path_);
}

CheckpointWriter::~CheckpointWriter() {
  if (file_ >= 0) ::close(file_);
}

void CheckpointWriter::open() {
  file_ = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file_ < 0) fail_call("open", path_);
}

void CheckpointWriter::write(std::span<const std::byte> bytes) {
  offset_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t done = ::write(file_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_call("write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void CheckpointWriter::append(std::span<const std::byte> bytes) {
  const std::size_t whole = bytes.size() / checkpoint_alignment * checkpoint_alignment;
  const std::span<const std::byte> rest = bytes.subspan(whole);
  std::array<std::byte, checkpoint_alignment> last{};
  std::copy(rest.begin(), rest.end(), last.begin());
  checksum_.add(bytes.first(whole));
  write(bytes.first(whole));
  if (rest.empty()) return;
  checksum_.add(last);
  write(last);
}

void CheckpointWriter::add(const ParameterShard& shard, CheckpointValue value, std::span<const float> values,
                           std::int64_t begin) {
  const auto end = begin + static_cast<std::int64_t>(values.size());
  check(begin >= 0 && end <= shard.local().count(), "values beyond the shard " + shard.name);
  if (values.empty()) return;
  if (file_ < 0) open();
  pieces_.push_back({value, shard, begin, end, offset_});
  append(std::as_bytes(values));
}

void CheckpointWriter::finish_rank() {
  if (file_ < 0) return;
  std::string list = to_json(pieces_);
  list.resize((list.size() + checkpoint_alignment - 1) / checkpoint_alignment * checkpoint_alignment, ' ');
  const std::uint64_t pieces_offset = offset_;
  append(std::as_bytes(std::span(list)));
  const CheckpointFooter footer = {.pieces_offset = pieces_offset,
                                   .pieces_bytes = list.size(),
                                   .pieces_checksum = checksum(std::as_bytes(std::span(list))),
                                   .checksum = checksum_.value()};
  write(std::as_bytes(std::span(&footer, 1)));
  if (::fsync(file_) != 0) fail_call("fsync", path_);
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0) fail_call("close", path_);
}

void publish_checkpoint(const std::string& dir, const CheckpointMeta& meta, std::uint32_t ranks) {
  const std::string folder = unfinished_checkpoint_folder(dir, meta.step);
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw BackendError(fmt::format("checkpoint: {} is not there", folder));
  write_checkpoint_index(folder, {meta, finished_files(folder, ranks)});
  synchronise(folder);
  rename_over(folder, checkpoint_folder(dir, meta.step));
  synchronise(dir);
}

}  // namespace tandem
