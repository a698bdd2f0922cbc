#include <sluice/samplers/node_table.h>

#include <sluice/units.h>

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace sluice {

void NodeTable::clear() {
  const std::size_t rows = std::exchange(size_, 0);
  if (own_.data() == nullptr) return hashed_.shrink(rows, 0, IdTable::hash_at(ids_.first(rows)));
  if (++stamp_ != 0) return;
  // The stamps have gone round: what older batches left would look new.
  std::memset(own_.data(), 0, own_.capacity() * sizeof(std::uint64_t));
  stamp_ = 1;
}

Result<void> NodeTable::reserve(std::size_t count, MemoryLedger* ledger) {
  const std::size_t rows = size_ + count;
  if (rows > kMaxRows) {
    return Error(ErrorCode::kResource,
                 fmt::format("a mini-batch would hold up to {} nodes of one type; at most {} fit",
                             format_count(rows),
                             format_count(kMaxRows)),
                 "lower the batch size or [sampler] fanout");
  }
  if (auto grown = ids_.grow(rows, size_, ledger); !grown) return grown;
  if (own_.data() != nullptr || (range_ != 0 && make_own_slots(ledger))) return {};
  return hashed_.reserve(rows, size_, ledger, IdTable::hash_at(ids()));
}

// Asked once: whether memory lets it must not change from batch to batch.
bool NodeTable::make_own_slots(MemoryLedger* ledger) {
  const std::uint64_t count = std::exchange(range_, 0);
  if (size_ != 0 || !own_.ensure_exactly(count, ledger)) return false;
  std::memset(own_.data(), 0, count * sizeof(std::uint64_t));
  stamp_ = 1;
  return true;
}

}  // namespace sluice
