// Layout of one rank's file of a checkpoint: stretches of floats, the list of them as JSON, a footer.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/training/checkpoint.h"
#include "exec/training/parameter_shard.h"

namespace tandem {

// A stretch of a shard: local elements [begin, end) as floats from byte `offset` on, a multiple of the
// alignment.
struct CheckpointPiece {
  CheckpointValue value = CheckpointValue::Weight;
  ParameterShard shard;  // where its elements lie; op and parameter are not stored
  std::int64_t begin = 0, end = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(end - begin) * sizeof(float); }
};
inline constexpr std::size_t checkpoint_alignment = 64;

std::string to_json(const std::vector<CheckpointPiece>&);
// InputError, naming the file, when the text says nothing sensible or a piece does not end before `limit`
// bytes.
std::vector<CheckpointPiece> read_pieces(std::string_view json, std::uint64_t limit, const std::string& file);

// The last bytes of a file: without them its writer did not finish.
struct CheckpointFooter {
  std::uint64_t pieces_offset = 0, pieces_bytes = 0, pieces_checksum = 0;
  std::uint64_t checksum = 0;                // of all that lies before the footer
  std::uint64_t magic = 0x316B6368646E6154;  // "Tandchk1"
};

// Nothing when the file does not end in a footer that fits its size; BackendError when it cannot be read.
std::optional<CheckpointFooter> read_footer(const std::string& path);

// Flushes a file or a folder to its disk; BackendError when that fails.
void synchronise(const std::string& path);
// BackendError with the call, what it was called on, and errno's text.
[[noreturn]] void fail_call(const char* call, const std::string& path);

}  // namespace tandem
