#include <sluice/samplers/transpose_block.h>

#include <algorithm>
#include <utility>

namespace sluice {

Result<void> transpose_block(Block& block, MemoryLedger* ledger) {
  const std::int64_t num_edges = block.num_edges();
  auto made_offsets = Array::make(DType::kI64, {block.num_sources + 1}, ledger, "batches");
  if (!made_offsets) return std::move(made_offsets).error();
  auto made_targets = Array::make(DType::kI32, {num_edges}, ledger, "batches");
  if (!made_targets) return std::move(made_targets).error();
  auto made_edges = Array::make(DType::kI32, {num_edges}, ledger, "batches");
  if (!made_edges) return std::move(made_edges).error();
  block.transposed_offsets = std::move(made_offsets).value();
  block.transposed_targets = std::move(made_targets).value();
  block.transposed_edges = std::move(made_edges).value();

  const auto offsets = std::as_const(block.offsets).as<std::int64_t>();
  const auto sources = std::as_const(block.neighbours).as<std::int32_t>();
  const auto ends = block.transposed_offsets.as<std::int64_t>();
  const auto targets = block.transposed_targets.as<std::int32_t>();
  const auto edges = block.transposed_edges.as<std::int32_t>();
  std::fill(ends.begin(), ends.end(), 0);
  for (const std::int32_t source : sources) ++ends[static_cast<std::size_t>(source)];
  std::int64_t sum = 0;
  for (std::int64_t& end : ends) end = sum += end;
  // From the last edge back, each source's end moves down to its begin: no second array, and edges
  // ascend.
  for (std::size_t target = static_cast<std::size_t>(block.num_targets); target-- > 0;) {
    for (std::int64_t edge = offsets[target + 1]; edge-- > offsets[target];) {
      const auto source = static_cast<std::size_t>(sources[static_cast<std::size_t>(edge)]);
      const auto slot = static_cast<std::size_t>(--ends[source]);
      targets[slot] = static_cast<std::int32_t>(target);
      edges[slot] = static_cast<std::int32_t>(edge);
    }
  }
  return {};
}

}  // namespace sluice
