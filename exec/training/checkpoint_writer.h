// Writes one rank's part of a checkpoint; one rank publishes it when all are done.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exec/training/checkpoint_file.h"
#include "exec/training/checksum.h"

namespace tandem {

// On each rank: construct, add what the rank owns, finish_rank. Then, after a barrier, publish on one of them.
// Every failure of the file system is a BackendError and leaves earlier checkpoints as they were.
class CheckpointWriter {
 public:
  CheckpointWriter(const std::string& dir, std::int64_t step, std::uint32_t rank);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Local elements [begin, begin + values.size()) of the shard. Each element of a whole parameter is added by
  // one rank (vocabulary padding does no harm).
  void add(const ParameterShard&, CheckpointValue, std::span<const float> values, std::int64_t begin = 0);
  // Flushes this rank's file to its disk. A rank that added nothing has none.
  void finish_rank();

 private:
  void open();
  void write(std::span<const std::byte>);
  void append(std::span<const std::byte>);  // and zeros up to the alignment

  std::string folder_, path_;
  int file_ = -1;
  std::uint64_t offset_ = 0;
  Checksum checksum_;
  std::vector<CheckpointPiece> pieces_;
};

// Names the folder for good. Call after all ranks' finish_rank, on one rank; `ranks` is their number.
// A checkpoint of the same step is replaced.
void publish_checkpoint(const std::string& dir, const CheckpointMeta&, std::uint32_t ranks);

}  // namespace tandem
