// LayerCall: what a layer is told besides its input: where to run, over which block, which draws.
#pragma once

#include "kernels/executor.h"
#include "kernels/views.h"

#include <sluice/batch.h>
#include <sluice/random.h>

#include <memory>

namespace sluice::nn {

/// A block that the backward may still need when the batch is gone. Copies of arrays share storage.
using BlockRef = std::shared_ptr<const Block>;

struct LayerCall {
  kernels::Executor executor;
  BlockRef block;
  RandomKey key{0};  ///< of (seed, epoch, step, layer): for dropout
};

/// Targets list their sources.
inline kernels::RowLists source_lists(const Block& block) {
  return {block.offsets.as<std::int64_t>().data(),
          block.neighbours.as<std::int32_t>().data(),
          block.num_targets};
}

/// Sources list their targets, ascending by edge.
inline kernels::RowLists target_lists(const Block& block) {
  return {block.transposed_offsets.as<std::int64_t>().data(),
          block.transposed_targets.as<std::int32_t>().data(),
          block.num_sources,
          block.transposed_edges.as<std::int32_t>().data()};
}

}  // namespace sluice::nn
