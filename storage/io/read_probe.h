// ReadProbe: the reading half of DiskProfile::measure. Keeps an engine full of equal requests for
// a moment and gives the time between two completions. One thread.
#pragma once

#include "storage/io/io_engine.h"

#include <sluice/random.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace sluice {

class ReadProbe {
 public:
  enum class Order { kRandom, kSequential };

  ReadProbe(std::unique_ptr<IoEngine> engine, std::chrono::milliseconds per_point)
      : engine_(std::move(engine)), per_point_(per_point) {}

  /// @param file_bytes of its beginning that may be read
  Result<void> attach(std::shared_ptr<const File> file,
                      std::shared_ptr<AlignedBuffer> buffer,
                      std::uint64_t file_bytes);

  /// Seconds a request of `length` bytes, in steady state: with as many in flight as the engine and
  /// the buffer hold. kIo when a read fails or nothing arrives for 10 s.
  Result<double> measure(std::uint32_t length, Order order);

 private:
  /// What has arrived is in arrived_; the first so many of it, and how many of them are whole.
  struct Arrived {
    std::size_t all = 0;
    std::size_t whole = 0;
  };

  void start(std::uint64_t slot);
  Result<void> submit(Clock::time_point deadline);
  Result<Arrived> finish_some();
  Error silent() const;

  std::unique_ptr<IoEngine> engine_;
  std::chrono::milliseconds per_point_;
  std::filesystem::path path_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t buffer_bytes_ = 0;
  FileSlot file_{};
  BufferSlot buffer_{};
  // Of the point that is measured:
  std::uint32_t length_ = 0;
  Order order_ = Order::kRandom;
  RandomKey key_{0};
  std::uint64_t next_ = 0;
  std::vector<IoRequest> queued_;
  std::vector<IoCompletion> arrived_;
};

}  // namespace sluice
