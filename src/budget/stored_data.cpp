#include "budget/stored_data.h"

namespace sluice {

GraphDataOptions stored_data_options(const StoredData& data,
                                     const StorageSection& storage,
                                     const SamplerMethod& sampler) {
  GraphDataOptions options;
  options.features = data.features;
  options.topology = data.topology;
  options.topology_cache_bytes = data.phases.topology_cache_bytes(data.budget);
  options.edge_weights = sampler.needs_weights();
  options.edge_times = sampler.needs_times();
  options.snapshot = sampler.snapshot();
  options.cache = storage.cache_kind();
  options.plan = storage.plan;
  options.io = storage.io;
  return options;
}

}  // namespace sluice
