#include "pipeline/stream/window.h"

#include "core/batch_fields.h"

namespace sluice {

std::uint64_t block_bytes(const Batch& batch) {
  std::uint64_t bytes = 0;
  for_each_array(batch, [&](const Array& array, BatchPart part) {
    if (part == BatchPart::kSampled || part == BatchPart::kDerived) bytes += array.bytes();
  });
  return bytes;
}

BatchSizes::BatchSizes(const Batch& batch) : blocks(block_bytes(batch)) {
  for (const BatchNodes& nodes : batch.nodes)
    rows.push_back(static_cast<std::uint64_t>(nodes.ids.numel()));
}

}  // namespace sluice
