// A disk that is full early: what a test of no room left stands on where it cannot mount one.
#pragma once

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>

#include <signal.h>
#include <sys/resource.h>

namespace sluice::test {

/// No file of this process grows beyond so many bytes while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

}  // namespace sluice::test
