// Runs a program as a child: its exit code, stdout and stderr, or a kill after a while.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>  // IWYU pragma: export
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>  // IWYU pragma: keep
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::test {

struct Outcome {
  int code = -1;  ///< exit code, or -signal
  std::string out;
  std::string err;
  long peak_rss_kib = 0;
};

/// A started child; waited for by finish().
class Process {
 public:
  explicit Process(const std::vector<std::string>& command) {
    out_ = std::tmpfile();
    err_ = std::tmpfile();
    if (out_ == nullptr || err_ == nullptr) throw std::runtime_error("cannot make temporary files");
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ == 0) {
      ::dup2(::fileno(out_), STDOUT_FILENO);
      ::dup2(::fileno(err_), STDERR_FILENO);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    (void)std::fclose(out_);
    (void)std::fclose(err_);
  }

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  Outcome finish() {
    int status = 0;
    rusage usage{};
    while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    Outcome outcome;
    // NOLINTNEXTLINE(misc-include-cleaner): of <sys/wait.h>
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    outcome.peak_rss_kib = usage.ru_maxrss;
    outcome.out = read(out_);
    outcome.err = read(err_);
    return outcome;
  }

 private:
  static std::string read(std::FILE* file) {
    std::rewind(file);
    std::string text;
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
      text.append(buffer, n);
    return text;
  }

  pid_t pid_ = -1;
  std::FILE* out_ = nullptr;
  std::FILE* err_ = nullptr;
};

inline Outcome run(const std::vector<std::string>& command) {
  return Process(command).finish();
}

/// Where the tools under test are: SLUICE_BIN, which ctest sets.
inline std::string tool(const std::string& name) {
  const char* dir = std::getenv("SLUICE_BIN");
  return (dir == nullptr ? std::string(".") : std::string(dir)) + "/" + name;
}

}  // namespace sluice::test
