// Small file systems of a test's own, mounted where nobody else sees them.
#pragma once

#include <doctest/doctest.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace sluice::test {

/// Leaves this process alone with its mounts, once; ends it as skipped where it may not. Before any
/// other thread lives.
inline void need_own_mounts() {
  static const bool own = ::unshare(CLONE_NEWNS) == 0 &&
                          ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  if (own) return;
  (void)std::puts("skipped: this user may not make a mount namespace");
  std::exit(77);
}

/// A file system of our own on a folder; goes with the namespace, or before.
class Mount {
 public:
  Mount(std::filesystem::path path, const char* options) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    REQUIRE(::mount("none", path_.c_str(), "tmpfs", 0, options) == 0);
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount() { ::umount2(path_.c_str(), MNT_DETACH); }

  void make_read_only() const {
    REQUIRE(::mount("none", path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0);
  }
  std::uint64_t used_bytes() const {
    struct statvfs figures {};
    REQUIRE(::statvfs(path_.c_str(), &figures) == 0);
    return (figures.f_blocks - figures.f_bfree) * figures.f_frsize;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice::test
