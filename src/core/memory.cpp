#include <sluice/memory.h>

#include "core/huge_pages.h"
#include "core/spare_blocks.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

namespace sluice {
namespace {

// Whole MiB, rounded up: a budget of what is printed has room for what was refused.
std::string least_budget(std::uint64_t used, std::uint64_t more) {
  const std::uint64_t needed = used + std::min(more, ~std::uint64_t{0} - used);
  return fmt::format("{}MiB", needed / kMiB + (needed % kMiB != 0 ? 1 : 0));
}

}  // namespace

Charge::Charge(Charge&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)),
      name_(std::move(other.name_)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Charge& Charge::operator=(Charge&& other) noexcept {
  if (this != &other) {
    release();
    ledger_ = std::exchange(other.ledger_, nullptr);
    name_ = std::move(other.name_);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Charge::~Charge() {
  release();
}

void Charge::release() noexcept {
  if (ledger_ == nullptr) return;
  // Giving back never fails: it only lowers the sums.
  (void)ledger_->change(name_, bytes_, 0);
  ledger_ = nullptr;
  bytes_ = 0;
}

Result<void> Charge::resize(std::uint64_t bytes) {
  if (ledger_ == nullptr) return Error(ErrorCode::kInternal, "resize of an empty memory charge");
  if (auto changed = ledger_->change(name_, bytes_, bytes); !changed) return changed;
  bytes_ = bytes;
  return {};
}

void Charge::rename(std::string name) {
  if (ledger_ != nullptr) {
    // What is given back under the lock is there to be taken under it.
    const MutexLock lock(ledger_->mutex_);
    (void)ledger_->change_locked(name_, bytes_, 0);
    (void)ledger_->change_locked(name, 0, bytes_);
  }
  name_ = std::move(name);
}

namespace {

constexpr std::uint64_t kAlignment = 64;
/// Smaller ones are the allocator's own business.
constexpr std::uint64_t kLeastKept = kMiB;
/// Of a ledger without a limit.
constexpr std::uint64_t kMostKept = 8 * kGiB;

std::uint64_t round_up(std::uint64_t bytes) {
  return std::max<std::uint64_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
}

}  // namespace

MemoryLedger::MemoryLedger(std::uint64_t limit_bytes, std::string knob)
    : limit_(limit_bytes), knob_(std::move(knob)), spare_(std::make_unique<SpareBlocks>()) {}

MemoryLedger::~MemoryLedger() = default;

std::uint64_t MemoryLedger::block_bytes(std::uint64_t bytes) {
  if (bytes < kLeastKept) return round_up(bytes);
  // Seven sizes between powers of two; and a head, so that a power of two with one is not the next.
  const std::uint64_t body = bytes - kAlignment;
  const std::uint64_t step = std::bit_floor(body) / 8;
  return (body + step - 1) / step * step + kAlignment;
}

Result<MemoryBlock> MemoryLedger::take_block(std::uint64_t wanted, Charge& charge) {
  std::uint64_t bytes = block_bytes(wanted);
  {
    const MutexLock lock(mutex_);
    // Before it is charged: what is charged takes the room of what is kept.
    const MemoryBlock kept = bytes < kLeastKept ? MemoryBlock{} : spare_->take(bytes);
    // Who sized the budget by what is needed did not reckon with the sizes that blocks come in.
    if (kept.data == nullptr && bytes > limit_ - used_) bytes = round_up(wanted);
    const std::uint64_t taken = kept.data == nullptr ? bytes : kept.bytes;
    auto charged = change_locked(charge.name_, charge.bytes_, charge.bytes_ + taken);
    if (!charged) return std::move(charged).error();  // none was kept: those are within the limit
    charge.bytes_ += taken;
    if (kept.data != nullptr) return kept;
  }
  void* fresh = std::aligned_alloc(kAlignment, bytes);
  if (fresh == nullptr) {
    (void)charge.resize(charge.bytes_ - bytes);  // giving back never fails
    return Error(ErrorCode::kResource,
                 fmt::format("the system has no {} for '{}'", format_bytes(bytes), charge.name_),
                 fmt::format("free memory, or lower {}; `ulimit -v` and the cgroup's limit count "
                             "too",
                             knob_));
  }
  wish_huge_pages(fresh, bytes);
  return MemoryBlock{fresh, bytes};
}

void MemoryLedger::give_block(const MemoryBlock& block, Charge& charge) noexcept {
  if (block.bytes < kLeastKept) std::free(block.data);
  const MutexLock lock(mutex_);
  // Lowering a charge never fails.
  (void)change_locked(charge.name_, charge.bytes_, charge.bytes_ - block.bytes);
  charge.bytes_ -= block.bytes;
  if (block.bytes < kLeastKept) return;
  try {
    spare_->keep(block);
  } catch (const std::bad_alloc&) {
    return std::free(block.data);
  }
  spare_->shrink(std::min(limit_ - used_, kMostKept));
}

Result<Charge> MemoryLedger::charge(std::string_view name, std::uint64_t bytes) {
  if (auto changed = change(name, 0, bytes); !changed) return std::move(changed).error();
  return Charge(this, std::string(name), bytes);
}

Result<void> MemoryLedger::change(std::string_view name, std::uint64_t from, std::uint64_t to) {
  const MutexLock lock(mutex_);
  return change_locked(name, from, to);
}

Result<void> MemoryLedger::change_locked(std::string_view name,
                                         std::uint64_t from,
                                         std::uint64_t to) {
  if (to > from && to - from > limit_ - used_) {
    return Error(ErrorCode::kResource,
                 fmt::format("{} more for '{}' do not fit: {} of {} are in use\n{}",
                             format_bytes(to - from),
                             name,
                             format_bytes(used_),
                             format_bytes(limit_),
                             table_locked()),
                 fmt::format("raise {} to at least {}", knob_, least_budget(used_, to - from)));
  }
  auto found = entries_.find(name);
  if (found == entries_.end())
    found = entries_.emplace(std::string(name), Entry{std::string(name), 0, 0}).first;
  Entry& entry = found->second;
  entry.bytes = entry.bytes - from + to;
  entry.peak = std::max(entry.peak, entry.bytes);
  used_ = used_ - from + to;
  spare_->shrink(limit_ - used_);
  peak_ = std::max(peak_, used_ + spare_->bytes());
  return {};
}

std::uint64_t MemoryLedger::used() const {
  const MutexLock lock(mutex_);
  return used_;
}

std::uint64_t MemoryLedger::peak() const {
  const MutexLock lock(mutex_);
  return peak_;
}

std::uint64_t MemoryLedger::available() const {
  const MutexLock lock(mutex_);
  return limit_ - used_;
}

std::vector<MemoryLedger::Entry> MemoryLedger::entries() const {
  const MutexLock lock(mutex_);
  std::vector<Entry> all;
  all.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) all.push_back(entry);
  return all;
}

std::string MemoryLedger::table() const {
  const MutexLock lock(mutex_);
  return table_locked();
}

std::string MemoryLedger::table_locked() const {
  std::vector<Entry> all;
  std::size_t width = 5;
  for (const auto& [name, entry] : entries_) {
    all.push_back(entry);
    width = std::max(width, name.size());
  }
  std::sort(
      all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.bytes > b.bytes; });
  std::string text;
  for (const Entry& entry : all) {
    text += fmt::format("  {:<{}}  {:>12}  (peak {})\n",
                        entry.name,
                        width,
                        format_bytes(entry.bytes),
                        format_bytes(entry.peak));
  }
  text += fmt::format("  {:<{}}  {:>12}  of {}",
                      "total",
                      width,
                      format_bytes(used_),
                      limit_ == kUnlimited ? std::string("no limit") : format_bytes(limit_));
  return text;
}

}  // namespace sluice
