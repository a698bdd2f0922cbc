// EventFeatures: the features of a relation's events by edge id, for those whom a mini-batch asks
// about: read from the disk as they are committed, where events in the order of time mostly lie
// side by side. Used by one thread. Throws Error.
#pragma once

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/executor.h>
#include <sluice/feature_store.h>

#include <torch/torch.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace sluice {

class EventFeatures {
 public:
  /// The first group of features of a relation, which has some. @param threads outlives this
  EventFeatures(const Dataset& dataset, std::size_t relation, IoChoice io, ThreadArena* threads);

  /// f32 [n, columns]. @param ids u64 [n]: edge ids
  torch::Tensor of(const Array& ids);

 private:
  std::unique_ptr<FeatureStore> store_;
  kernels::Executor executor_;
  std::vector<std::byte> stored_;  // of one mini-batch's events
};

}  // namespace sluice
