// SpillFile: segments that memory has no room for, one after the other in a scratch file without a
// name. Written behind the caller's back in large direct writes, read back in any order with many
// reads in flight.
//
// One caller at a time. The file goes with the object, and with the process, however that ends.
#pragma once

#include "core/condition_variable.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <sluice/mutex.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <thread>

namespace sluice {

class SpillFile {
 public:
  using Release = std::function<void(std::byte*)>;

  /// @param release gets each segment back when it is on disk; called on the writer's thread
  SpillFile(const std::filesystem::path& folder, std::uint64_t segment_bytes, Release release);
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile();

  /// Takes a segment to write; returns its slot in the file. Throws what an earlier write met
  /// (kResource for a full disk, naming the folder).
  std::uint64_t write(std::byte* segment);
  /// Waits until another segment has been given back; false when none is still to be written.
  bool wait_for_one();
  void wait_for_all();

  /// Reads slots into consecutive places of `to`. @pre nothing is left to write
  void read(std::span<const std::uint64_t> slots, const std::shared_ptr<AlignedBuffer>& to);
  /// The same for one of few buffers that are read into again and again: they and the engine's hold
  /// on them stay with the file.
  void read_again(std::span<const std::uint64_t> slots, const std::shared_ptr<AlignedBuffer>& to);

  std::uint64_t slots() const noexcept { return slots_; }

 private:
  struct Waiting {
    std::byte* segment;
    std::uint64_t slot;
  };
  struct Reading;
  void write_loop();
  void rethrow_locked() SLUICE_REQUIRES(mutex_);

  std::shared_ptr<File> file_;
  std::uint64_t segment_bytes_;
  Release release_;
  std::uint64_t slots_ = 0;
  std::unique_ptr<Reading> reading_;  // of read_again()

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Waiting> waiting_ SLUICE_GUARDED_BY(mutex_);  // slots ascend by one
  std::uint64_t left_ SLUICE_GUARDED_BY(mutex_) = 0;       // waiting or being written
  bool stop_ SLUICE_GUARDED_BY(mutex_) = false;
  std::exception_ptr problem_ SLUICE_GUARDED_BY(mutex_);
  std::thread writer_;
};

}  // namespace sluice
