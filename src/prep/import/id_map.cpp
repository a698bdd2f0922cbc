#include "prep/import/id_map.h"

#include "core/hash.h"

#include <sluice/random.h>

#include <algorithm>

namespace sluice {
namespace {

std::uint64_t hash_of(std::int64_t id) {
  return RandomKey(static_cast<std::uint64_t>(id)).draw(0);
}
std::uint64_t hash_of(std::string_view id) {
  return xxh3_64(std::as_bytes(std::span(id)));
}

}  // namespace

void SlotTable::grow() {
  const std::uint64_t slots = std::max<std::uint64_t>(slots_ * 2, 512);
  buffer_ = AlignedBuffer();  // all slots are put again from the ids: the old table need not stay
                              // meanwhile
  slots_ = 0;
  buffer_ = AlignedBuffer::make(slots * sizeof(std::uint64_t), ledger_, "id map").or_throw();
  slots_ = slots;
}

void SlotTable::put(std::uint64_t hash, std::uint64_t node) {
  auto* slots = reinterpret_cast<std::uint64_t*>(buffer_.data());
  std::uint64_t at = hash & (slots_ - 1);
  while (slots[at] != 0) at = (at + 1) & (slots_ - 1);
  slots[at] = (hash & ~kNodeMask) | (node + 1);
}

std::uint64_t IntegerIdMap::find(std::int64_t id) const {
  return slots_.find(hash_of(id), [&](std::uint64_t node) { return ids_.values()[node] == id; });
}

bool IntegerIdMap::add(std::int64_t id) {
  if (find(id) != kNoNode) return false;
  slots_.add(hash_of(id), [&](std::uint64_t node) { return hash_of(ids_.values()[node]); });
  ids_.push_back(id);
  return true;
}

std::uint64_t StringIdMap::find(std::string_view wanted) const {
  return slots_.find(hash_of(wanted), [&](std::uint64_t node) { return id(node) == wanted; });
}

bool StringIdMap::add(std::string_view new_id) {
  if (find(new_id) != kNoNode) return false;
  slots_.add(hash_of(new_id), [&](std::uint64_t node) { return hash_of(id(node)); });
  bytes_.append(new_id);
  offsets_.push_back(bytes_.size());
  return true;
}

std::string_view StringIdMap::id(std::uint64_t node) const {
  const auto offsets = offsets_.values();
  return {bytes_.values().data() + offsets[node], offsets[node + 1] - offsets[node]};
}

}  // namespace sluice
