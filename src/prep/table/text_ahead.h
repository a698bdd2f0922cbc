// TextAhead: what a decoder gives, made by a thread that runs a few buffers ahead of whom reads it:
// decompression is slower than parsing, and neither waits for the other. Private to
// text_source.cpp.
#pragma once

#include "prep/table/text_decoders.h"
#include "prep/table/text_source.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/mutex.h>

#include <array>
#include <condition_variable>
#include <exception>
#include <stop_token>
#include <thread>

namespace sluice {

class TextAhead final : public TextSource {
 public:
  TextAhead(std::unique_ptr<TextDecoder> decoder, MemoryLedger& ledger);

  std::size_t read(std::span<std::byte> out) override;
  bool ended() const override;
  std::optional<std::uint64_t> bytes() const override { return std::nullopt; }

 private:
  struct Slot {
    AlignedBuffer buffer;
    std::size_t filled = 0;
  };

  void run(const std::stop_token& stop);
  bool decode_slot(Slot& slot);

  std::unique_ptr<TextDecoder> decoder_;  // the thread's alone
  std::array<Slot, 3> slots_;
  std::size_t used_ = 0;  // of the slot that is read; the reader's alone

  mutable Mutex mutex_;
  std::condition_variable_any changed_;                // as the thread is asked to stop
  std::uint64_t made_ SLUICE_GUARDED_BY(mutex_) = 0;   // slots filled so far
  std::uint64_t taken_ SLUICE_GUARDED_BY(mutex_) = 0;  // slots read so far
  bool done_ SLUICE_GUARDED_BY(mutex_) = false;        // no slot will follow
  std::exception_ptr failure_ SLUICE_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it stops before what it uses goes
};

}  // namespace sluice
