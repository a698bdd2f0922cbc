// KeptWindows: the windows of an epoch, sampled once and played back once. Of a window its numbers
// are kept in memory; its mini-batches lie in a scratch file, where the disk has room for all of
// them, and are sampled again otherwise. A WindowKeeper makes it. next() and bring() are one
// thread's each.
#pragma once

#include "pipeline/stream/batch_sequence.h"
#include "pipeline/stream/batch_spool.h"
#include "pipeline/stream/window_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace sluice {

class KeptWindows final : public WindowSource {
 public:
  /// Of none so far. @param sampler samples again; borrowed
  /// @param batch_bytes of a mini-batch, to make room for
  KeptWindows(BatchSampler& sampler, const LoaderStart& where, std::uint64_t batch_bytes);

  /// Of a window that is being made, keeps the mini-batch that came last: the window has nothing
  /// left of it but which it is. Throws Error.
  void add_last_batch(Window& window);
  /// A window is made.
  void add(const Window& window);
  /// All windows are. Throws Error.
  void finish();
  /// Bytes that were read to make them, besides what sampling counts itself.
  void count_read(std::uint64_t bytes) { read_ += bytes; }

  /// The next window, of which bring() fills in the mini-batches.
  std::shared_ptr<Window> next() override;
  /// Fills in a mini-batch of a window, and the numbers of its rows: of all windows, one after the
  /// other, once their rows are placed. May run beside next(). Throws Error.
  void bring(Window& window, std::size_t index);
  /// Gives up the mini-batches while they are kept: the plan's lists need what room there is.
  bool free_disk() override;

  /// Whether no mini-batch has to be sampled again.
  bool all_kept() const { return spool_ != nullptr; }
  /// For who makes it, or brings.
  std::uint64_t bytes_read() const { return read_ + (spool_ ? spool_->bytes_read() : 0); }
  std::uint64_t bytes_written() const { return spool_ ? spool_->bytes_written() : written_; }

 private:
  // What is known of a window whose mini-batches went by.
  struct Kept {
    std::uint64_t first_batch = 0;
    std::uint64_t batches = 0;
    RowCounts rows;
  };

  template <class Write>
  void write(const Write& to);

  BatchSampler& sampler_;
  LoaderStart where_;
  std::unique_ptr<BatchSpool> spool_;  // null where the disk had no room
  std::vector<Kept> windows_;
  std::size_t next_ = 0;
  std::optional<BatchSequence> again_;
  std::uint64_t read_ = 0;     // not from the spool
  std::uint64_t written_ = 0;  // to the spool, once it was given up
};

}  // namespace sluice
