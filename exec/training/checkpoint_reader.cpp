// Matches what is wanted with what files hold by merging two ascending lists of runs.
#include "exec/training/checkpoint_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/problem/problem.h"
#include "exec/training/checkpoint_file.h"
#include "exec/training/checksum.h"
#include "exec/training/model_digest.h"

namespace tandem {

struct CheckpointReader::File {
  std::string path;
  std::uint64_t checksum = 0;
  std::span<const std::byte> bytes;  // the whole file, mapped
  std::vector<CheckpointPiece> pieces;
  bool verified = false;

  explicit File(std::string at) : path(std::move(at)) {}
  ~File() {
    if (!bytes.empty()) ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void map(std::uint64_t size) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) fail_call("open", path);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (at == MAP_FAILED) fail_call("mmap", path);
    bytes = {static_cast<const std::byte*>(at), size};
  }
  void read_list() {
    const auto footer = read_footer(path);
    if (!footer || footer->checksum != checksum) damaged();
    const auto list = bytes.subspan(footer->pieces_offset, footer->pieces_bytes);
    if (tandem::checksum(list) != footer->pieces_checksum) damaged();
    pieces = read_pieces(std::string_view(reinterpret_cast<const char*>(list.data()), list.size()),
                         footer->pieces_offset, path);
  }
  void verify() {
    if (verified) return;
    if (tandem::checksum(bytes.first(bytes.size() - sizeof(CheckpointFooter))) != checksum) damaged();
    verified = true;
  }
  [[noreturn]] void damaged() const {
    refuse({.file = path}, "this file of a checkpoint is damaged: its checksum is another one",
           "go on from an earlier checkpoint");
  }
};

CheckpointReader::CheckpointReader(const std::string& folder)
    : folder_(folder), index_(read_checkpoint_index(folder)) {
  for (const CheckpointFile& entry : index_.files) {
    File& file = *files_.emplace_back(std::make_unique<File>(folder + "/" + entry.name));
    file.checksum = entry.checksum;
    file.map(entry.bytes);
    file.read_list();
    for (std::size_t p = 0; p < file.pieces.size(); ++p)
      pieces_[{file.pieces[p].shard.name, file.pieces[p].value}].push_back({files_.size() - 1, p});
  }
}

CheckpointReader::~CheckpointReader() = default;

void CheckpointReader::check_model(const ModelGraph& model) const {
  const std::uint64_t digest = model_digest(model);
  if (digest == meta().model_digest) return;
  refuse({.file = folder_},
         fmt::format("the checkpoint is of {} (digest {:016x}), not of {} ({:016x})", meta().model,
                     meta().model_digest, model.name(), digest),
         "name another folder, or train the model it is of");
}

bool CheckpointReader::has(CheckpointValue value) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [&](const auto& entry) { return entry.first.second == value; });
}

void CheckpointReader::read(const ParameterShard& shard, CheckpointValue value, std::span<float> values,
                            std::int64_t begin) {
  const std::vector<ParameterRun> wanted =
      parameter_runs(shard, begin, begin + static_cast<std::int64_t>(values.size()));
  std::int64_t missing = 0;
  for (const ParameterRun& run : wanted) {
    if (!run.padding) missing += run.length;
    if (run.padding) std::fill_n(values.begin() + (run.local - begin), run.length, 0.0f);
  }
  const auto held = pieces_.find({shard.name, value});
  if (held != pieces_.end()) {
    for (const auto& [file, piece] : held->second) {
      if (files_[file]->pieces[piece].shard.whole != shard.whole)
        refuse({.file = files_[file]->path},
               fmt::format("{} has another shape in this checkpoint", shard.name));
      missing -= copy(files_[file]->pieces[piece], *files_[file], wanted, values, begin);
    }
  }
  if (missing != 0)
    refuse({.file = folder_}, fmt::format("the checkpoint has {} elements of {}'s {} {}", std::abs(missing),
                                          shard.name, name(value), missing > 0 ? "too few" : "twice"));
}

std::int64_t CheckpointReader::copy(const CheckpointPiece& piece, File& file,
                                    std::span<const ParameterRun> wanted, std::span<float> values,
                                    std::int64_t begin) {
  const std::vector<ParameterRun> held = parameter_runs(piece.shard, piece.begin, piece.end);
  std::int64_t copied = 0;
  auto have = held.begin();
  for (const ParameterRun& want : wanted) {
    if (want.padding) continue;
    while (have != held.end() && (have->padding || have->whole + have->length <= want.whole)) ++have;
    for (auto run = have; run != held.end() && run->whole < want.whole + want.length; ++run) {
      if (run->padding) continue;
      const std::int64_t first = std::max(run->whole, want.whole);
      const std::int64_t length = std::min(run->whole + run->length, want.whole + want.length) - first;
      file.verify();
      std::memcpy(values.data() + (want.local - begin + first - want.whole),
                  file.bytes.data() + piece.offset +
                      static_cast<std::uint64_t>(run->local - piece.begin + first - run->whole) * sizeof(float),
                  static_cast<std::size_t>(length) * sizeof(float));
      copied += length;
    }
  }
  return copied;
}

}  // namespace tandem
