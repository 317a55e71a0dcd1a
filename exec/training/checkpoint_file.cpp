// Pieces to and from JSON, and the footer.
#include "exec/training/checkpoint_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/problem/problem.h"

namespace tandem {
namespace {

using nlohmann::json;

json to_json(const IndexRange& range) { return {range.begin, range.end}; }

IndexRange range_in(const json& pair, std::int64_t limit) {
  const IndexRange range = {pair.at(0).get<std::int64_t>(), pair.at(1).get<std::int64_t>()};
  if (range.begin < 0 || range.end <= range.begin || range.end > limit)
    throw std::out_of_range("a range of indices is not one");
  return range;
}

// Far above any parameter, and products of two stay in 64 bits.
constexpr std::int64_t most = std::int64_t{1} << 31;

CheckpointPiece piece_in(const json& item, std::uint64_t limit) {
  CheckpointPiece piece;
  const auto value = parse_checkpoint_value(item.at("value").get<std::string>());
  if (!value) throw std::out_of_range("a value of an unknown kind");
  piece.value = *value;
  ParameterShard& shard = piece.shard;
  shard.name = item.at("parameter").get<std::string>();
  const json& whole = item.at("whole");
  shard.whole = {whole.at(0).get<std::int64_t>(), whole.at(1).get<std::int64_t>(),
                 whole.at(2).get<std::int64_t>()};
  shard.experts = range_in(item.at("experts"), shard.whole.experts);
  for (const json& rows : item.at("rows")) shard.rows.push_back(range_in(rows, most));
  shard.columns = range_in(item.at("columns"), shard.whole.columns);
  const IndexRange elements = range_in(item.at("elements"), shard.local().count());
  piece.begin = elements.begin;
  piece.end = elements.end;
  piece.offset = item.at("offset").get<std::uint64_t>();
  if (piece.offset > limit || piece.bytes() > limit - piece.offset || piece.offset % checkpoint_alignment != 0)
    throw std::out_of_range("a piece lies outside the file");
  return piece;
}

}  // namespace

std::string to_json(const std::vector<CheckpointPiece>& pieces) {
  json list = json::array();
  for (const CheckpointPiece& piece : pieces) {
    const ParameterShard& shard = piece.shard;
    json rows = json::array();
    for (const IndexRange& range : shard.rows) rows.push_back(to_json(range));
    list.push_back({{"parameter", shard.name},
                    {"value", name(piece.value)},
                    {"whole", {shard.whole.experts, shard.whole.rows, shard.whole.columns}},
                    {"experts", to_json(shard.experts)},
                    {"rows", std::move(rows)},
                    {"columns", to_json(shard.columns)},
                    {"elements", {piece.begin, piece.end}},
                    {"offset", piece.offset}});
  }
  return list.dump();
}

std::vector<CheckpointPiece> read_pieces(std::string_view text, std::uint64_t limit, const std::string& file) {
  std::vector<CheckpointPiece> pieces;
  try {
    for (const json& item : json::parse(text)) pieces.push_back(piece_in(item, limit));
  } catch (const std::exception& fault) {  // JSON's own and the two of piece_in
    refuse({.file = file}, fmt::format("this part of a checkpoint is damaged: {}", fault.what()),
           "go on from an earlier checkpoint");
  }
  return pieces;
}

std::optional<CheckpointFooter> read_footer(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_call("open", path);
  const off_t size = ::lseek(file, 0, SEEK_END);
  CheckpointFooter footer, read;
  const auto begin = size - static_cast<off_t>(sizeof read);
  const bool whole =
      begin >= 0 && ::pread(file, &read, sizeof read, begin) == static_cast<ssize_t>(sizeof read);
  ::close(file);
  const auto room = static_cast<std::uint64_t>(begin);
  if (!whole || read.magic != footer.magic || read.pieces_offset > room ||
      read.pieces_bytes != room - read.pieces_offset)
    return std::nullopt;
  return read;
}

void synchronise(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail_call("open", path);
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  errno = error;
  // Some file systems cannot synchronise a folder; the files in it are safe by then.
  if (error != 0 && error != EINVAL && error != ENOTSUP) fail_call("fsync", path);
}

void fail_call(const char* call, const std::string& path) {
  throw BackendError(fmt::format("checkpoint: {} {}: {}", call, path, std::strerror(errno)));
}

}  // namespace tandem
