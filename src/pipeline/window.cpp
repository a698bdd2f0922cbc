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

}  // namespace sluice
