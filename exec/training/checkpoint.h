// Checkpoints: one file a rank in the coordinates of whole parameters, so that any other plan can load them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// DIR/step-000123/ holds rank-00000.bin … and index.json. It is written under another name and renamed once
// complete: a folder with this name and an index whose files have their sizes is whole.
inline constexpr int checkpoint_version = 1;

// What is stored of each parameter, in fp32.
enum class CheckpointValue : std::uint8_t { Weight, ExpAvg, ExpAvgSq, Momentum };
std::string_view name(CheckpointValue);  // "weight", "exp_avg", …
std::optional<CheckpointValue> parse_checkpoint_value(std::string_view);

struct CheckpointMeta {
  std::string model;               // name, for messages
  std::uint64_t model_digest = 0;  // must be equal to load
  std::int64_t step = 0;           // updates done
  std::uint64_t seed = 0;
  std::int64_t samples = 0;  // sequences seen: where the data goes on
  std::string data;          // the source's text
  std::string plan;          // for the reader; any plan can load
  bool operator==(const CheckpointMeta&) const = default;
};

struct CheckpointFile {
  std::string name;
  std::uint64_t bytes = 0, checksum = 0;
  bool operator==(const CheckpointFile&) const = default;
};

struct CheckpointIndex {
  CheckpointMeta meta;
  std::vector<CheckpointFile> files;
};

std::string checkpoint_folder(const std::string& dir, std::int64_t step);             // DIR/step-000123
std::string unfinished_checkpoint_folder(const std::string& dir, std::int64_t step);  // DIR/.step-000123.part

// BackendError when it cannot be written.
void write_checkpoint_index(const std::string& folder, const CheckpointIndex&);

// Reads and checks index.json of a checkpoint's folder. InputError: none there, another version, not readable,
// or a file is missing or has another size.
CheckpointIndex read_checkpoint_index(const std::string& folder);

// Folder of the complete checkpoint with the highest step in `dir`; nothing when there is none.
std::optional<std::string> latest_checkpoint(const std::string& dir);

// Removes complete checkpoints but the `count` with the highest steps, and what interrupted writers left of
// steps below those. Called by one rank.
void keep_last_checkpoints(const std::string& dir, std::size_t count);

}  // namespace tandem
