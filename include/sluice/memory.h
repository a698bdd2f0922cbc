// The memory ledger: every engine buffer is charged to it by name, so that the budget is a promise.
//
// One ledger a run, passed by reference; no global. Thread-safe. A `Charge` is a move-only receipt
// that gives its bytes back when it dies; it must not outlive its ledger.
#pragma once

#include <sluice/error.h>
#include <sluice/mutex.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class MemoryLedger;
class SpareBlocks;

class Charge {
 public:
  Charge() = default;
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&& other) noexcept;
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge();

  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Grows or shrinks the charge; on failure the charge is unchanged.
  Result<void> resize(std::uint64_t bytes);
  /// The same bytes by another name.
  void rename(std::string name);
  void release() noexcept;

 private:
  friend class MemoryLedger;
  Charge(MemoryLedger* ledger, std::string name, std::uint64_t bytes)
      : ledger_(ledger), name_(std::move(name)), bytes_(bytes) {}

  MemoryLedger* ledger_ = nullptr;
  std::string name_;
  std::uint64_t bytes_ = 0;
};

/// Memory that a MemoryLedger handed out.
struct MemoryBlock {
  void* data = nullptr;     ///< aligned to 64 bytes, with any content
  std::uint64_t bytes = 0;  ///< what it takes, as charged
};

class MemoryLedger {
 public:
  struct Entry {
    std::string name;
    std::uint64_t bytes = 0;  ///< charged now
    std::uint64_t peak = 0;   ///< the most this name ever held
  };

  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  /// @param limit_bytes the budget; `knob` is the option that sets it, named in errors ("[memory]
  /// host").
  explicit MemoryLedger(std::uint64_t limit_bytes = kUnlimited,
                        std::string knob = "the memory budget");
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;
  ~MemoryLedger();

  /// Memory for a large block, and back. Freed ones are kept for the next of about their size while
  /// the budget has room for them: they count in peak(), and go as soon as a charge wants their
  /// bytes. A block comes and goes together with its part of a charge: so one that is kept does not
  /// give way to the charge for its own use, and no other charge gets the room in between.
  /// @param wanted bytes: the block has block_bytes() of them, or where it was kept an eighth more;
  /// just the bytes wanted, in multiples of 64, where there is no room for that
  /// @param charge of this ledger: grows by the block's bytes, and shrinks again
  /// Errors: charge()'s; kResource where the system has none.
  Result<MemoryBlock> take_block(std::uint64_t wanted, Charge& charge);
  void give_block(const MemoryBlock& block, Charge& charge) noexcept;
  /// `bytes` rounded up to what blocks come in: at most an eighth more, multiples of 64.
  static std::uint64_t block_bytes(std::uint64_t bytes);

  /// Charges `bytes` under `name`, or fails with ErrorCode::kResource and the table of where the
  /// bytes are.
  Result<Charge> charge(std::string_view name, std::uint64_t bytes);

  std::uint64_t limit() const noexcept { return limit_; }
  std::uint64_t used() const;
  std::uint64_t peak() const;  ///< of what was charged, and kept
  std::uint64_t available() const;

  /// Entries by name, sorted.
  std::vector<Entry> entries() const;

  /// The entries as aligned text, one line each, largest first, with the sum and the limit.
  std::string table() const;

 private:
  friend class Charge;
  Result<void> change(std::string_view name, std::uint64_t from, std::uint64_t to);
  Result<void> change_locked(std::string_view name, std::uint64_t from, std::uint64_t to)
      SLUICE_REQUIRES(mutex_);
  std::string table_locked() const SLUICE_REQUIRES(mutex_);

  const std::uint64_t limit_;
  const std::string knob_;
  mutable Mutex mutex_;
  std::unique_ptr<SpareBlocks> spare_ SLUICE_PT_GUARDED_BY(mutex_);
  std::map<std::string, Entry, std::less<>> entries_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t used_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t peak_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
