#include "storage/io/write_probe.h"

#include <sluice/mutex.h>
#include <sluice/random.h>
#include <sluice/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastBytes = 16 * kMiB;  // to read from, however slow the writes
constexpr std::uint64_t kSpareBytes = 64 * kMiB;  // left free beside the scratch file
constexpr std::size_t kWriters = 4;

/// How much of `wanted` may be written, whole MiB.
Result<std::uint64_t> scratch_room(const std::filesystem::path& folder, std::uint64_t wanted) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0)
    return system_error(errno, "cannot look at the file system", folder);
  const std::uint64_t room = std::uint64_t{status.f_bavail} * status.f_frsize;
  const std::uint64_t spared = room > kSpareBytes ? room - kSpareBytes : 0;
  const std::uint64_t bytes = std::min(wanted, spared) / kMiB * kMiB;
  if (bytes >= std::min(kLeastBytes, wanted)) return bytes;
  return Error(ErrorCode::kResource,
               fmt::format("{} are free here: too little for a scratch file to measure the disk",
                           format_bytes(room)),
               "free space on this file system, or choose another folder",
               Place{folder.string(), -1, -1, -1});
}

/// Random bytes: some disks answer pages of zeros without writing or reading anything.
void fill(std::span<std::byte> bytes) {
  const RandomKey key = RandomKey(1).with("disk probe");
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t word = key.draw(at / 8);
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
}

/// Makes each page differ from all others: some disks store equal ones once.
void stamp(std::span<std::byte> piece, std::uint64_t offset) {
  for (std::size_t at = 0; at < piece.size(); at += kPageBytes) {
    const std::uint64_t place = offset + at;
    std::memcpy(piece.data() + at, &place, sizeof place);
  }
}

/// Pieces of 1 MiB, each written by whichever thread is free.
class Writing {
 public:
  Writing(File& file, std::uint64_t bytes, Clock::duration longest)
      : file_(file), bytes_(bytes), stop_at_(Clock::now() + longest) {}

  Result<void> run(std::span<std::byte> buffer) {
    {
      std::vector<std::jthread> threads;
      threads.reserve(kWriters);
      for (std::size_t i = 0; i < std::min<std::size_t>(kWriters, buffer.size() / kMiB); ++i)
        threads.emplace_back([this, piece = buffer.subspan(i * kMiB, kMiB)] { write(piece); });
    }
    const MutexLock lock(mutex_);
    if (problem_) return *std::move(problem_);
    return {};
  }

  std::uint64_t written() const {
    const MutexLock lock(mutex_);
    return next_;
  }

 private:
  void write(std::span<std::byte> piece) {
    while (const auto offset = claim()) {
      stamp(piece, *offset);
      if (auto done = file_.write_at(*offset, piece); !done) return stop(std::move(done).error());
    }
  }

  /// The offset of the next piece; nothing when the file, the time or the disk is at its end.
  std::optional<std::uint64_t> claim() {
    const MutexLock lock(mutex_);
    if (problem_ || next_ >= bytes_) return std::nullopt;
    if (next_ >= kLeastBytes && Clock::now() >= stop_at_) return std::nullopt;
    return std::exchange(next_, next_ + kMiB);
  }

  void stop(Error problem) {
    const MutexLock lock(mutex_);
    if (!problem_) problem_ = std::move(problem);
  }

  File& file_;
  std::uint64_t bytes_;
  Clock::time_point stop_at_;
  mutable Mutex mutex_;
  std::uint64_t next_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::optional<Error> problem_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace

Result<WrittenScratch> write_scratch(const std::filesystem::path& folder,
                                     std::uint64_t bytes,
                                     Clock::duration longest,
                                     std::span<std::byte> buffer) {
  auto room = scratch_room(folder, bytes);
  if (!room) return std::move(room).error();
  auto file = File::scratch(folder, Direct::kAuto);
  if (!file) return std::move(file).error();
  // Space is taken beforehand, so that no write waits for another that grows the file. Where that
  // cannot be done they do wait, and a full disk is found by the writes.
  (void)::fallocate(file.value().fd(), 0, 0, static_cast<off_t>(room.value()));
  fill(buffer.first(std::min<std::size_t>(kWriters * kMiB, buffer.size())));

  const auto begin = Clock::now();
  Writing writing(file.value(), room.value(), longest);
  if (auto done = writing.run(buffer); !done) return std::move(done).error();
  const std::chrono::duration<double> took = Clock::now() - begin;
  if (auto done = file.value().sync(); !done) return std::move(done).error();
  return WrittenScratch{std::make_shared<const File>(std::move(file).value()),
                        writing.written(),
                        static_cast<double>(writing.written()) / took.count()};
}

}  // namespace sluice
