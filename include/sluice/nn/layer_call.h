// LayerCall: what a layer is told besides its input: where to run, over which block, which draws.
#pragma once

#include <sluice/batch.h>
#include <sluice/executor.h>
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

}  // namespace sluice::nn
