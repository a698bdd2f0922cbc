#include "bench/support/child.h"

#include <sluice/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace sluice::bench {
namespace {

// A pipe whose ends are closed when it goes.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw Error(ErrorCode::kResource,
                  fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends_[0]);
    close_write();
  }

  int write_end() const { return ends_[1]; }
  void close_write() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  // Everything until the other end is closed.
  std::string drain() {
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
      const ssize_t got = ::read(ends_[0], buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

pid_t start(const std::vector<std::string>& command, int out) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t pid = -1;
  const int problem = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (problem == 0) return pid;
  throw Error(ErrorCode::kUsage,
              fmt::format("cannot start {}: {}", command[0], std::strerror(problem)),
              "build it: scripts/build");
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  // NOLINTNEXTLINE(misc-include-cleaner): of <sys/wait.h>
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::filesystem::path build_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

std::string run_child(const std::vector<std::string>& command) {
  Pipe pipe;
  const pid_t pid = start(command, pipe.write_end());
  pipe.close_write();
  std::string text = pipe.drain();
  const int code = wait_for(pid);
  if (code == 0) return text;
  // What the child says is the case's own trouble: its code is handed on where it is one of ours.
  const bool known = code == 2 || code == 3 || code == 4 || code == 5;
  throw Error(code == 137 ? ErrorCode::kResource
              : known     ? static_cast<ErrorCode>(code)
                          : ErrorCode::kInternal,
              fmt::format("'{}' ended with exit code {}", fmt::join(command, " "), code),
              "what it said is above");
}

}  // namespace sluice::bench
