#include "storage/embedding/coalesce.h"

#include "core/radix_sort.h"

namespace sluice {

void CoalescedIds::assign(std::span<const std::uint64_t> ids) {
  sorted_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i)
    sorted_.push_back({ids[i], static_cast<std::int32_t>(i)});
  radix_sort(sorted_, scratch_, [](const At& at) { return at.id; });
  distinct_.clear();
  offsets_.clear();
  positions_.clear();
  for (const At& at : sorted_) {
    if (distinct_.empty() || distinct_.back() != at.id) {
      distinct_.push_back(at.id);
      offsets_.push_back(static_cast<std::int64_t>(positions_.size()));
    }
    positions_.push_back(at.position);
  }
  offsets_.push_back(static_cast<std::int64_t>(positions_.size()));
}

}  // namespace sluice
