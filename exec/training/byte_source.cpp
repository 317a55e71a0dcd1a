// Bytes as tokens, read where they are needed.
#include "exec/training/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/problem/problem.h"
#include "exec/training/counter_random.h"

namespace tandem {
namespace {

// Size of a regular file that is open.
std::int64_t regular_size(int file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file, &status) != 0)
    throw BackendError(fmt::format("cannot read {}: fstat: {}", path, std::strerror(errno)));
  if (!S_ISREG(status.st_mode))
    refuse({.file = path}, "the training data is not a regular file", "name a file, its bytes become tokens");
  return status.st_size;
}

}  // namespace

ByteSource::ByteSource(const std::string& path, std::uint64_t seed, std::int64_t vocabulary,
                       std::int64_t bytes_needed)
    : path_(path), seed_(seed) {
  if (vocabulary < 256)
    refuse({.file = path}, fmt::format("bytes need 256 tokens, and the model has {} for them", vocabulary),
           "use a larger vocab_size, or no data file");
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) refuse({.file = path}, fmt::format("cannot read the training data: {}", std::strerror(errno)));
  try {
    size_ = regular_size(file_, path);
    if (size_ < std::max<std::int64_t>(bytes_needed, 1))
      refuse({.file = path},
             fmt::format("the training data has {} bytes, and one sequence takes {}", size_, bytes_needed),
             "use a longer file or a smaller seq_length");
  } catch (...) {
    ::close(file_);
    throw;
  }
}

ByteSource::~ByteSource() { ::close(file_); }

void ByteSource::sequence(std::int64_t step, std::int64_t sample, std::span<std::int32_t> main,
                          std::span<std::int32_t> encoder) const {
  const std::size_t length = main.size() + encoder.size();
  check(static_cast<std::int64_t>(length) <= size_, "a sequence longer than " + path_);
  const std::uint64_t offset =
      RandomKey{seed_}
          .derived("bytes")
          .derived(static_cast<std::uint64_t>(step))
          .below(static_cast<std::uint64_t>(size_) - length + 1, static_cast<std::uint64_t>(sample));
  std::vector<unsigned char> bytes(length);
  for (std::size_t done = 0; done < length;) {
    const ssize_t got = ::pread(file_, bytes.data() + done, length - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      throw BackendError(fmt::format("cannot read {}: pread: {}", path_,
                                     got < 0 ? std::strerror(errno) : "the file has become shorter"));
    done += static_cast<std::size_t>(got);
  }
  const auto middle = bytes.begin() + static_cast<std::ptrdiff_t>(encoder.size());
  std::copy(bytes.begin(), middle, encoder.begin());
  std::copy(middle, bytes.end(), main.begin());
}

std::string ByteSource::text() const {
  return fmt::format("bytes of {} ({} bytes), seed {}", path_, size_, seed_);
}

}  // namespace tandem
