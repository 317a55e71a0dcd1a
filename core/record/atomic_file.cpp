// Writing beside a target and renaming over it.
#include "core/record/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/problem/problem.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& target, const char* call, int error) {
  throw BackendError(fmt::format("cannot write {}: {}: {}", target, call, std::strerror(error)));
}

// The file that a chain of symbolic links means, so that a link stays a link.
fs::path followed(const std::string& target) {
  std::error_code error;
  fs::path path = target;
  for (int links = 0; fs::is_symlink(path, error) && !error; ++links) {
    if (links == 40) fail(target, "open", ELOOP);
    const fs::path next = fs::read_symlink(path, error);
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

void synchronise(const std::string& path, int flags, const std::string& target) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) fail(target, "open", errno);
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  // Some file systems cannot synchronise a directory; the data itself is safe by then.
  if (error != 0 && !((flags & O_DIRECTORY) && (error == EINVAL || error == ENOTSUP)))
    fail(target, "fsync", error);
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

AtomicFile::AtomicFile(const std::string& target) {
  if (target.empty()) throw BackendError("cannot write a file without a name");
  const fs::path path = followed(target);
  target_ = path.string();
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status) || !path.has_filename()) fail(target, "open", EISDIR);
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status))
      throw BackendError(fmt::format("cannot write {}: it is a device, a pipe or a socket", target));
    if (::access(target_.c_str(), W_OK) != 0) fail(target, "open", errno);
  }
  for (int attempt = 0;; ++attempt) {
    path_ = fmt::format("{}/.tandem-{}-{}.part", folder_of(target_), ::getpid(), attempt);
    const int file = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file >= 0) {
      ::close(file);
      return;
    }
    if (errno != EEXIST || attempt == 1000) fail(target, "open", errno);
  }
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(path_.c_str());
}

void AtomicFile::commit() {
  synchronise(path_, O_RDONLY, target_);
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail(target_, "rename", errno);
  committed_ = true;
  synchronise(folder_of(target_), O_RDONLY | O_DIRECTORY, target_);
}

void write_file(const std::string& target, const std::function<void(std::ostream&)>& write) {
  const auto write_to = [&](const std::string& path) {
    errno = 0;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    if (!out) fail(target, "open", errno);
    write(out);
    out.close();
    if (!out) fail(target, "write", errno != 0 ? errno : EIO);
  };
  std::error_code error;
  const fs::file_type type = fs::status(target, error).type();
  if (type == fs::file_type::character || type == fs::file_type::fifo) return write_to(target);
  AtomicFile file(target);
  write_to(file.path());
  file.commit();
}

}  // namespace tandem
