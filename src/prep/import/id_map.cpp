#include "prep/import/id_map.h"

#include "core/hash.h"

#include <sluice/random.h>

#include <algorithm>
#include <array>

namespace sluice {
namespace {

constexpr std::size_t kGroup = 32;  // look-ups whose memory is under way at the same time

std::uint64_t hash_of(std::int64_t id) {
  return RandomKey(static_cast<std::uint64_t>(id)).draw(0);
}
std::uint64_t hash_of(std::string_view id) {
  return xxh3_64(std::as_bytes(std::span(id)));
}

}  // namespace

void IdSlots::grow() {
  const std::uint64_t slots = std::max<std::uint64_t>(slots_ * 2, 512);
  buffer_ = AlignedBuffer();  // all slots are put again from the ids: the old table need not stay
                              // meanwhile
  slots_ = 0;
  buffer_ = AlignedBuffer::make(slots * sizeof(std::uint64_t), ledger_, "id map").or_throw();
  slots_ = slots;
}

void IdSlots::put(std::uint64_t hash, std::uint64_t node) {
  auto* slots = reinterpret_cast<std::uint64_t*>(buffer_.data());
  std::uint64_t at = hash & (slots_ - 1);
  while (slots[at] != 0) at = (at + 1) & (slots_ - 1);
  slots[at] = (hash & ~kNodeMask) | (node + 1);
}

std::uint64_t IntegerIdMap::find(std::int64_t id) const {
  return slots_.find(hash_of(id), [&](std::uint64_t node) { return ids_.values()[node] == id; });
}

void IntegerIdMap::find_many(std::span<const std::int64_t> ids, std::uint64_t* nodes) const {
  std::array<std::uint64_t, kGroup> hashes{};
  for (std::size_t first = 0; first < ids.size(); first += kGroup) {
    const auto group = ids.subspan(first, std::min(kGroup, ids.size() - first));
    std::uint64_t* const found = nodes + first;
    for (std::size_t i = 0; i < group.size(); ++i) {
      hashes[i] = hash_of(group[i]);
      slots_.prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      found[i] = slots_.candidate(hashes[i]);
      if (found[i] != kNoNode) __builtin_prefetch(ids_.values().data() + found[i]);
    }
    for (std::size_t i = 0; i < group.size(); ++i)
      if (found[i] != kNoNode && ids_.values()[found[i]] != group[i]) found[i] = find(group[i]);
  }
}

std::uint64_t IntegerIdMap::take(std::int64_t id) {
  if (const std::uint64_t node = find(id); node != kNoNode) return node;
  slots_.add(hash_of(id), [&](std::uint64_t node) { return hash_of(ids_.values()[node]); });
  ids_.push_back(id);
  return ids_.size() - 1;
}

std::uint64_t StringIdMap::find(std::string_view wanted) const {
  return slots_.find(hash_of(wanted), [&](std::uint64_t node) { return id(node) == wanted; });
}

void StringIdMap::find_many(const TextValues& ids,
                            std::size_t first,
                            std::size_t last,
                            std::uint64_t* nodes) const {
  std::array<std::uint64_t, kGroup> hashes{};
  const auto offsets = offsets_.values();
  for (; first < last; first += kGroup, nodes += kGroup) {
    const std::size_t count = std::min(kGroup, last - first);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_of(ids[first + i]);
      slots_.prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      nodes[i] = slots_.candidate(hashes[i]);
      if (nodes[i] != kNoNode) __builtin_prefetch(offsets.data() + nodes[i]);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (nodes[i] != kNoNode) __builtin_prefetch(bytes_.values().data() + offsets[nodes[i]]);
    for (std::size_t i = 0; i < count; ++i)
      if (nodes[i] != kNoNode && id(nodes[i]) != ids[first + i]) nodes[i] = find(ids[first + i]);
  }
}

std::uint64_t StringIdMap::take(std::string_view new_id) {
  if (const std::uint64_t node = find(new_id); node != kNoNode) return node;
  slots_.add(hash_of(new_id), [&](std::uint64_t node) { return hash_of(id(node)); });
  bytes_.append(new_id);
  offsets_.push_back(bytes_.size());
  return size() - 1;
}

std::string_view StringIdMap::id(std::uint64_t node) const {
  const auto offsets = offsets_.values();
  return {bytes_.values().data() + offsets[node], offsets[node + 1] - offsets[node]};
}

}  // namespace sluice
