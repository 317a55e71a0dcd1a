// Reads what a rank needs from whichever files of a checkpoint hold it.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/training/checkpoint.h"
#include "exec/training/parameter_run.h"

namespace tandem {

struct CheckpointPiece;

class CheckpointReader {
 public:
  // `folder` is that of one checkpoint (DIR/step-000123). InputError as read_checkpoint_index.
  explicit CheckpointReader(const std::string& folder);
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  const CheckpointMeta& meta() const { return index_.meta; }
  // InputError naming both when the checkpoint is of another model.
  void check_model(const ModelGraph&) const;

  // Local elements [begin, begin + values.size()) of a shard under any plan; vocabulary padding becomes 0.
  // InputError: a damaged file (its checksum is verified before its first use), or elements that are not there.
  void read(const ParameterShard&, CheckpointValue, std::span<float> values, std::int64_t begin = 0);
  bool has(CheckpointValue) const;

 private:
  struct File;
  std::int64_t copy(const CheckpointPiece&, File&, std::span<const ParameterRun> wanted,
                    std::span<float> values, std::int64_t begin);

  std::string folder_;
  CheckpointIndex index_;
  std::vector<std::unique_ptr<File>> files_;
  // Pieces by parameter and value: which file, which of its pieces.
  std::map<std::pair<std::string, CheckpointValue>, std::vector<std::pair<std::size_t, std::size_t>>> pieces_;
};

}  // namespace tandem
