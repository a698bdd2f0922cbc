// ReadPass: one call of BlockReader::read, or of BlockWriter::write or exchange. Keeps the engine
// full and deals with each completion.
#pragma once

#include "storage/io/read_errors.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace sluice {

/// One BlockRead on its way; its place in ReaderState::slots is its tag.
struct ReadSlot {
  BlockRead read{};
  std::size_t index = 0;      ///< its number in its call
  std::uint32_t done = 0;     ///< bytes that have arrived, whole pages
  std::uint32_t checked = 0;  ///< bytes whose pages are verified
  int retries = 0;
  bool active = false;
  Clock::time_point start;
};

/// What a BlockReader keeps from call to call; the vectors never grow past the engine's depth.
struct ReaderState {
  ReaderState(std::unique_ptr<IoEngine> with, BlockReaderOptions by);

  std::unique_ptr<IoEngine> engine;
  BlockReaderOptions options;
  IoStats stats;
  std::vector<ReadableFile> files;
  std::vector<std::shared_ptr<AlignedBuffer>> buffers;
  bool broken = false;
  std::vector<ReadSlot> slots;
  std::vector<std::uint32_t> free_slots;
  std::vector<IoRequest> queued;  ///< to be submitted next
  std::vector<IoCompletion> arrived;
};

/// Whether a read keeps BlockRead's contract, `index` being its number in its call.
Result<void> check_read(const ReaderState& state, const BlockRead& read, std::size_t index);

class ReadPass {
 public:
  /// Reads alone.
  ReadPass(ReaderState& state, ReadSource& source)
      : state_(state), source_(source), read_stats_(state.stats), write_stats_(state.stats) {}
  /// The source gives so many reads, then writes.
  ReadPass(ReaderState& state, ReadSource& source, std::size_t reads, IoStats& write_stats)
      : state_(state),
        source_(source),
        reads_(reads),
        read_stats_(state.stats),
        write_stats_(write_stats) {}

  /// Returns with all slots free, except after a stall or a broken engine.
  Result<void> run();

 private:
  void fill();
  void drop_queued();
  Result<void> submit();
  Result<void> exchange();
  void arrive(const IoCompletion& completion);
  void advance(std::uint32_t tag, std::uint32_t bytes);
  void finish(std::uint32_t tag);
  void retry(std::uint32_t tag, Error error);
  void fail(std::uint32_t tag, Error error);
  void request_rest(std::uint32_t tag);
  void release(std::uint32_t tag);
  std::uint32_t verify(const BlockRead& read, std::uint32_t from) const;
  Error stalled() const;
  Error no_progress(const ReadSlot& slot, std::uint32_t done) const;

  IoOp op_of(const ReadSlot& slot) const {
    return slot.index < reads_ ? IoOp::kRead : IoOp::kWrite;
  }
  IoStats& stats_of(const ReadSlot& slot) {
    return op_of(slot) == IoOp::kRead ? read_stats_ : write_stats_;
  }
  const ReadableFile& file_of(const BlockRead& read) const {
    return state_.files[static_cast<std::size_t>(read.file)];
  }

  ReaderState& state_;
  ReadSource& source_;
  std::size_t reads_ = std::numeric_limits<std::size_t>::max();  // those before are reads
  IoStats& read_stats_;
  IoStats& write_stats_;
  std::size_t started_ = 0;  // taken from the source
  Clock::time_point now_;    // of the last completions
  std::optional<Error> error_;
};

}  // namespace sluice
