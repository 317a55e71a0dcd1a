// A simulation in a forked child; progress, result or error come back through a pipe.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>

#include "core/problem/problem.h"
#include "sim/simulate_costs.h"

namespace tandem {
namespace {

enum class Message : char { Progress, Result, Mistake, Backend, Input };

// Bytes of plain values, one after the other, between two copies of one program.
class Writer {
 public:
  template <class T>
  void value(const T& item) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&item), sizeof item);
  }
  void text(const std::string& item) {
    value(item.size());
    bytes_ += item;
  }
  template <class T>
  void list(const std::vector<T>& items) {
    static_assert(std::is_trivially_copyable_v<T>);
    value(items.size());
    bytes_.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  T value() {
    T item;
    copy(&item, sizeof item);
    return item;
  }
  std::string text() {
    std::string item(value<std::size_t>(), '\0');
    copy(item.data(), item.size());
    return item;
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> items(value<std::size_t>());
    copy(items.data(), items.size() * sizeof(T));
    return items;
  }

 private:
  void copy(void* to, std::size_t size) {
    check(at_ + size <= bytes_.size(), "a child's message is whole");
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

std::string pack(const Playback& playback) {
  Writer out;
  out.value(playback.step_time);
  out.value(playback.complete);
  out.value(playback.ranks.size());
  for (const RankTimes& rank : playback.ranks) {
    out.value(rank.rank);
    out.value(rank.multiplicity);
    out.list(rank.tasks);
  }
  out.list(playback.links);
  out.value(playback.fidelity);
  out.text(playback.remark);
  out.value(playback.rank_classes);
  out.value(playback.tasks_played);
  out.value(playback.flows_played);
  out.value(playback.timed_played);
  return out.bytes();
}

Playback unpack(const std::string& bytes) {
  Reader in(bytes);
  Playback playback;
  playback.step_time = in.value<Seconds>();
  playback.complete = in.value<bool>();
  playback.ranks.resize(in.value<std::size_t>());
  for (RankTimes& rank : playback.ranks) {
    rank.rank = in.value<RankId>();
    rank.multiplicity = in.value<std::uint32_t>();
    rank.tasks = in.list<TaskTimes>();
  }
  playback.links = in.list<LinkUse>();
  playback.fidelity = in.value<Fidelity>();
  playback.remark = in.text();
  playback.rank_classes = in.value<std::size_t>();
  playback.tasks_played = in.value<std::size_t>();
  playback.flows_played = in.value<std::size_t>();
  playback.timed_played = in.value<std::size_t>();
  return playback;
}

[[noreturn]] void fail(const char* call) {
  throw BackendError(std::string("simulate_in_child: ") + call + ": " + std::strerror(errno));
}

bool write_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool send(int fd, Message kind, const std::string& body) {
  Writer head;
  head.value(kind);
  head.value(body.size());
  return write_all(fd, head.bytes().data(), head.bytes().size()) && write_all(fd, body.data(), body.size());
}

bool read_all(int fd, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool receive(int fd, Message& kind, std::string& body) {
  std::size_t size = 0;
  if (!read_all(fd, reinterpret_cast<char*>(&kind), sizeof kind)) return false;
  if (!read_all(fd, reinterpret_cast<char*>(&size), sizeof size)) return false;
  body.resize(size);
  return read_all(fd, body.data(), size);
}

[[noreturn]] void run_child(int fd, const TaskGraph& tasks, const CostSource& costs, PlayOptions options) {
  if (options.progress) {
    // The parent answers by killing: the child goes on until then.
    options.progress = [fd](double share) {
      Writer body;
      body.value(share);
      return send(fd, Message::Progress, body.bytes());
    };
  }
  try {
    send(fd, Message::Result, pack(simulate(tasks, costs, options)));
  } catch (const InputError& error) {
    Writer body;
    body.value(error.problems().size());
    for (const Problem& problem : error.problems()) {
      body.text(problem.where.file);
      body.value(problem.where.line);
      body.value(problem.where.column);
      body.text(problem.what);
      body.text(problem.hint);
    }
    send(fd, Message::Input, body.bytes());
  } catch (const BackendError& error) {
    send(fd, Message::Backend, error.what());
  } catch (const std::exception& error) {
    send(fd, Message::Mistake, error.what());
  }
  ::_exit(0);  // no destructor of the parent's may run here
}

[[noreturn]] void rethrow_input(const std::string& bytes) {
  Reader in(bytes);
  std::vector<Problem> problems(in.value<std::size_t>());
  for (Problem& problem : problems) {
    problem.where.file = in.text();
    problem.where.line = in.value<int>();
    problem.where.column = in.value<int>();
    problem.what = in.text();
    problem.hint = in.text();
  }
  throw InputError(std::move(problems));
}

// The child and our end of its pipe; waited for in any case.
class Child {
 public:
  Child(const TaskGraph& tasks, const CostSource& costs, const PlayOptions& options) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
    pid_ = ::fork();
    if (pid_ < 0) {
      ::close(ends[0]);
      ::close(ends[1]);
      fail("fork");
    }
    if (pid_ == 0) {
      ::close(ends[0]);
      run_child(ends[1], tasks, costs, options);
    }
    ::close(ends[1]);
    fd_ = ends[0];
  }
  ~Child() { wait(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int fd() const { return fd_; }
  void kill() { ::kill(pid_, SIGKILL); }
  int wait() {
    if (pid_ <= 0) return status_;
    ::close(fd_);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }

 private:
  pid_t pid_ = -1;
  int fd_ = -1, status_ = 0;
};

}  // namespace

Playback simulate_in_child(const TaskGraph& tasks, const CostSource& costs, const PlayOptions& options) {
  Child child(tasks, costs, options);
  Message kind{};
  std::string body;
  while (receive(child.fd(), kind, body)) {
    switch (kind) {
      case Message::Progress:
        if (options.progress(Reader(body).value<double>())) continue;
        child.kill();
        {
          Playback stopped;
          stopped.complete = false;
          stopped.fidelity = options.fidelity;
          return stopped;
        }
      case Message::Result:
        return unpack(body);
      case Message::Input:
        rethrow_input(body);
      case Message::Backend:
        throw BackendError(body);
      case Message::Mistake:
        throw std::logic_error(body);
    }
  }
  const int status = child.wait();
  throw BackendError(WIFSIGNALED(status)
                         ? std::string("simulation child died of signal ") + ::strsignal(WTERMSIG(status))
                         : "simulation child ended without a result");
}

}  // namespace tandem
