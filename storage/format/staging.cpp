#include "storage/format/staging.h"

#include "storage/format/layout.h"
#include "storage/io/file.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <stdio.h>   // renameat2
#include <stdlib.h>  // mkdtemp
#include <cerrno>
#include <cstdio>
#include <span>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

fs::path staging_prefix(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.partial-", target.filename().string());
}

void check_target(const fs::path& target, Overwrite overwrite) {
  std::error_code problem;
  const bool there = fs::exists(target, problem);
  if (problem) throw system_error(problem.value(), "cannot look at the output", target);
  if (!there) return;
  if (overwrite == Overwrite::kRefuse) {
    throw Error(ErrorCode::kUsage,
                "the output already exists",
                "choose another --out, or add --overwrite to replace it",
                Place{target.string(), -1, -1, -1});
  }
  const bool dataset = fs::exists(target / kManifestName, problem);
  const bool empty = fs::is_directory(target, problem) && fs::is_empty(target, problem);
  if (!dataset && !empty) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the output exists and is not a dataset (it has no {})", kManifestName),
                "--overwrite replaces datasets only: choose another --out",
                Place{target.string(), -1, -1, -1});
  }
}

constexpr const char* kFingerprintName = "fingerprint";

void sync_tree(const fs::path& root) {
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory()) sync_directory(entry.path()).or_throw();
  }
  sync_directory(root).or_throw();
}

}  // namespace

StagingDirectory::StagingDirectory(const fs::path& target, Overwrite overwrite, Resume resume)
    : overwrite_(overwrite), resume_(std::move(resume)) {
  target_ = fs::absolute(target).lexically_normal();
  if (!target_.has_filename()) target_ = target_.parent_path();  // "data/x/" names data/x
  std::error_code problem;
  fs::create_directories(target_.parent_path(), problem);
  if (problem)
    throw system_error(problem.value(), "cannot create the folder", target_.parent_path());
  check_target(target_, overwrite_);
  sweep_leftovers();
  if (resumed_) return;
  create();
  if (!resume_.fingerprint.empty()) begin_notes();
}

void StagingDirectory::begin_notes() {
  std::error_code problem;
  fs::create_directory(notes(), problem);
  if (problem) throw system_error(problem.value(), "cannot create the folder", notes());
  File file = File::create(notes() / kFingerprintName).or_throw();
  file.write_at(0, std::as_bytes(std::span(resume_.fingerprint))).or_throw();
  file.sync().or_throw();
}

// A leftover of the same work becomes this run's own directory.
bool StagingDirectory::take_over(const fs::path& leftover, DirectoryLock& lock) {
  if (!resume_.wanted || resumed_) return false;
  constexpr std::uint64_t kMaxBytes = 1 << 20;
  const auto text = read_text_file(leftover / ".stages" / kFingerprintName, kMaxBytes);
  if (!text || text.value() != resume_.fingerprint) return false;
  path_ = leftover;
  lock_ = std::move(lock);
  resumed_ = true;
  return true;
}

// The lock is on the directory itself, so that there is no file to forget. Another run's sweep may
// take a directory between its making and its locking: then another name is tried.
void StagingDirectory::create() {
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string name = staging_prefix(target_).string() + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      throw system_error(errno, "cannot write to the folder", target_.parent_path());
    }
    path_ = name;
    lock_ = DirectoryLock::try_lock(path_);
    if (!lock_) {
      remove_quietly(path_);
      continue;
    }
    std::error_code problem;
    fs::permissions(path_, fs::perms(0755), problem);
    if (!problem) return;
  }
  throw Error(ErrorCode::kIo,
              "cannot lock a working folder here",
              "use a file system that supports flock, or try again",
              Place{target_.parent_path().string(), -1, -1, -1});
}

StagingDirectory::~StagingDirectory() {
  if (!committed_ && !path_.empty()) remove_quietly(path_);
}

// A staging directory whose lock can be had has no living owner.
void StagingDirectory::sweep_leftovers() {
  const std::string prefix = staging_prefix(target_).filename().string();
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(target_.parent_path(), problem)) {
    const std::string name = entry.path().filename().string();
    if (name.compare(0, prefix.size(), prefix) != 0 || !entry.is_directory(problem)) continue;
    // Held until it is gone, so that nobody takes it for their own meanwhile.
    auto lock = DirectoryLock::try_lock(entry.path());
    if (!lock || take_over(entry.path(), *lock)) continue;
    remove_quietly(entry.path());
    swept_.push_back(entry.path().string());
  }
}

void StagingDirectory::remove_quietly(const fs::path& path) noexcept {
  std::error_code ignored;  // what stays behind is swept by the next run
  fs::remove_all(path, ignored);
}

void StagingDirectory::commit() {
  std::error_code problem;
  fs::remove_all(notes(), problem);
  if (problem) throw system_error(problem.value(), "cannot remove the notes of stages", notes());
  sync_tree(path_);
  const bool replace = overwrite_ == Overwrite::kReplace && fs::exists(target_);
  const unsigned flags = replace ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  int status = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), flags);
  // Some network file systems know no flags. A plain rename never replaces a directory that has
  // something in it.
  if (status != 0 && errno == EINVAL && !replace) status = ::rename(path_.c_str(), target_.c_str());
  if (status != 0) {
    const int reason = errno;
    if (reason == EINVAL) {
      throw Error(ErrorCode::kIo,
                  "this file system cannot exchange two directories in one step",
                  "remove the old dataset yourself, or write to another --out",
                  Place{target_.string(), -1, -1, -1});
    }
    if (reason == EEXIST || reason == ENOTEMPTY) {
      throw Error(ErrorCode::kUsage,
                  "the output came into being meanwhile",
                  "choose another --out",
                  Place{target_.string(), -1, -1, -1});
    }
    throw system_error(reason, "cannot rename the finished dataset into place", target_);
  }
  committed_ = true;
  sync_directory(target_.parent_path()).or_throw();
  if (replace) remove_quietly(path_);  // holds the old dataset now
}

}  // namespace sluice
