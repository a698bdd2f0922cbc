#include "storage/io/atomic_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace sluice {

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  partial_ = target_.parent_path() / fmt::format(".{}.partial", target_.filename().string());
  // The caller knows the file by its own name, not by that of its beginnings.
  std::error_code problem;
  const std::filesystem::path folder = target_.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, problem))
    throw system_error(problem ? problem.value() : ENOENT, "cannot create", target_);
  file_ = File::create(partial_).or_throw();
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  std::error_code ignored;  // the next writer of this target overwrites what stays behind
  std::filesystem::remove(partial_, ignored);
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  file_.write_at(size_, bytes).or_throw();
  size_ += bytes.size();
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  file_.write_at(offset, bytes).or_throw();
}

void AtomicFile::commit() {
  file_.sync().or_throw();
  file_.close().or_throw();
  if (std::rename(partial_.c_str(), target_.c_str()) != 0) {
    throw system_error(errno, "cannot rename the finished file into place", target_);
  }
  committed_ = true;
  const std::filesystem::path folder = target_.parent_path();
  sync_directory(folder.empty() ? "." : folder).or_throw();
}

void write_text_file(const std::filesystem::path& target, std::string_view text) {
  AtomicFile file(target);
  file.append(text);
  file.commit();
}

}  // namespace sluice
