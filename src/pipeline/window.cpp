#include "pipeline/window.h"

namespace sluice {

std::uint64_t block_bytes(const Batch& batch) {
  std::uint64_t bytes = batch.seeds.bytes();
  for (const BatchNodes& nodes : batch.nodes) bytes += nodes.ids.bytes() + nodes.degrees.bytes();
  for (const auto& layer : batch.layers) {
    for (const Block& block : layer) {
      for (const Array* array : {&block.offsets,
                                 &block.neighbours,
                                 &block.edge_ids,
                                 &block.transposed_offsets,
                                 &block.transposed_targets,
                                 &block.transposed_edges}) {
        bytes += array->bytes();
      }
    }
  }
  return bytes;
}

BatchSizes::BatchSizes(const Batch& batch) : blocks(block_bytes(batch)) {
  for (const BatchNodes& nodes : batch.nodes)
    rows.push_back(static_cast<std::uint64_t>(nodes.ids.numel()));
}

}  // namespace sluice
