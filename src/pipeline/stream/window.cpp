#include "pipeline/stream/window.h"

#include "core/batch_fields.h"

#include <algorithm>

namespace sluice {

std::uint64_t block_bytes(const Batch& batch) {
  std::uint64_t bytes = 0;
  for_each_array(batch, [&](const Array& array, BatchPart part) {
    if (part == BatchPart::kSampled || part == BatchPart::kDerived) bytes += array.bytes();
  });
  return bytes;
}

BatchSizes::BatchSizes(const Batch& batch, FeatureTables tables) : blocks(block_bytes(batch)) {
  // One that happens to ask nothing of a table tells nothing of those that do.
  constexpr std::uint64_t kUnknown = 256;
  for (const FeatureTable& table : tables) {
    const std::uint64_t asked = count_rows(batch, table);
    rows.push_back(asked != 0 ? asked : std::min(table.rows(), kUnknown));
  }
}

}  // namespace sluice
