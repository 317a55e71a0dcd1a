// A file that appears under its name whole or not at all: written beside its target, synchronised, then
// renamed.
#pragma once
#include <functional>
#include <ostream>
#include <string>

namespace tandem {

class AtomicFile {
 public:
  // Makes an empty file with a name of its own in the target's folder. A target that is a directory, a device
  // or write-protected, and a folder that takes no file, are BackendErrors. A symbolic link is followed.
  explicit AtomicFile(const std::string& target);
  ~AtomicFile();  // removes the file unless it was committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const { return path_; }      // where to write
  const std::string& target() const { return target_; }  // the file that it becomes, behind symbolic links
  // Flushes the file to its disk and gives it the target's name; BackendError when either fails.
  void commit();

 private:
  std::string target_, path_;
  bool committed_ = false;
};

// Writes a text or binary file through `write`, atomically. A target that is a pipe or a terminal is written
// directly.
void write_file(const std::string& target, const std::function<void(std::ostream&)>& write);

}  // namespace tandem
