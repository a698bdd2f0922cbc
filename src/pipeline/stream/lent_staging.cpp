#include "pipeline/stream/lent_staging.h"

#include "storage/io/aligned_buffer.h"
#include "storage/topology/paged_topology.h"

#include <algorithm>

namespace sluice {
namespace {

std::vector<PagedTopology*> on_disk(std::span<const std::shared_ptr<Topology>> relations) {
  std::vector<PagedTopology*> paged;
  for (const auto& relation : relations) {
    if (auto* const topology = dynamic_cast<PagedTopology*>(&relation->stored()))
      paged.push_back(topology);
  }
  return paged;
}

}  // namespace

std::uint64_t LentStaging::bytes_each(std::span<const std::shared_ptr<Topology>> relations,
                                      std::uint64_t bytes) {
  const std::vector<PagedTopology*> paged = on_disk(relations);
  if (paged.empty()) return 0;
  const std::uint64_t each = bytes / paged.size() / kPageBytes * kPageBytes;
  const bool more = std::ranges::all_of(
      paged, [&](const PagedTopology* topology) { return each > topology->staging_bytes(); });
  return more ? each : 0;
}

std::uint64_t LentStaging::bytes_of(std::span<const std::shared_ptr<Topology>> relations,
                                    std::uint64_t each) {
  return 2 * each * on_disk(relations).size();
}

LentStaging::LentStaging(std::span<const std::shared_ptr<Topology>> relations, std::uint64_t each)
    : keep_alive_(relations.begin(), relations.end()), lent_to_(on_disk(relations)) {
  for (PagedTopology* const topology : lent_to_) {
    Result<void> lent = topology->lend_staging(each);
    if (lent) continue;
    give_back();
    std::move(lent).or_throw();
  }
}

LentStaging::~LentStaging() {
  give_back();
}

void LentStaging::give_back() noexcept {
  for (PagedTopology* const topology : lent_to_) (void)topology->lend_staging(0);
}

}  // namespace sluice
