#include "budget/stored_data.h"

#include "budget/read_buffers.h"

namespace sluice {

GraphDataOptions stored_data_options(const StoredData& data,
                                     const GraphSchema& schema,
                                     const StorageSection& storage,
                                     const SamplerMethod& sampler) {
  GraphDataOptions options;
  options.features = data.features;
  options.topology = data.topology;
  options.relation_topology = data.relations;
  options.topology_cache_bytes = data.phases.topology_cache_bytes(data.budget);
  options.edge_weights = sampler.needs_weights();
  options.edge_times = sampler.needs_times();
  options.snapshot = sampler.snapshot();
  options.cache = storage.cache_kind();
  options.plan = storage.plan;
  options.io = storage.io;
  options.feature_groups = data.groups.nodes;
  options.edge_feature_groups = data.groups.edges;
  options.staging_bytes = read_buffer_bytes(data.phases.read_budget(data.budget),
                                            wanted_features(schema, data.groups).size());
  return options;
}

}  // namespace sluice
