// What comes with Sluice, by name: samplers, cache policies and sparse optimizers. Models, tasks
// and optimizers, which need LibTorch, are in sluice/train.h.
//
//   LoaderOptions options;
//   options.sampler = builtin_samplers().make("labor", "fanout = [10, 10]");
//
// Each call makes a catalog of its own, to which entries may be added.
#pragma once

#include <sluice/cache_policy.h>
#include <sluice/sampler.h>
#include <sluice/sparse_optimizer.h>

namespace sluice {

SamplerCatalog builtin_samplers();
CachePolicyCatalog builtin_caches();
SparseOptimizerCatalog builtin_sparse_optimizers();

}  // namespace sluice
