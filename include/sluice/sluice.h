// All of the API that needs no LibTorch: datasets, mini-batches, the loader, samplers, queries,
// caches, options and the registries. Link Sluice::core. sluice/training.h is the rest.
#pragma once

// IWYU pragma: begin_exports
#include <sluice/array.h>
#include <sluice/batch.h>
#include <sluice/cache_policy.h>
#include <sluice/catalog.h>
#include <sluice/compute_device.h>
#include <sluice/cpu_isa.h>
#include <sluice/dataset.h>
#include <sluice/deferred_features.h>
#include <sluice/dtype.h>
#include <sluice/edge_rule.h>
#include <sluice/embedding_table.h>
#include <sluice/error.h>
#include <sluice/executor.h>
#include <sluice/feature_store.h>
#include <sluice/graph_schema.h>
#include <sluice/loader.h>
#include <sluice/loader_forecast.h>
#include <sluice/loader_stats.h>
#include <sluice/memory.h>
#include <sluice/mutex.h>
#include <sluice/no_node.h>
#include <sluice/options.h>
#include <sluice/queries/link_parts.h>
#include <sluice/query.h>
#include <sluice/random.h>
#include <sluice/registry.h>
#include <sluice/request_latency.h>
#include <sluice/row_table.h>
#include <sluice/sampler.h>
#include <sluice/samplers/alias_table.h>
#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/charged_id_table.h>
#include <sluice/samplers/choose_positions.h>
#include <sluice/samplers/edge_scan.h>
#include <sluice/samplers/id_table.h>
#include <sluice/samplers/link_order.h>
#include <sluice/samplers/link_queries.h>
#include <sluice/samplers/links.h>
#include <sluice/samplers/negative_sampler.h>
#include <sluice/samplers/node_queries.h>
#include <sluice/samplers/node_table.h>
#include <sluice/samplers/query_share.h>
#include <sluice/samplers/seed_order.h>
#include <sluice/samplers/transpose_block.h>
#include <sluice/snapshot.h>
#include <sluice/sparse_optimizer.h>
#include <sluice/threads.h>
#include <sluice/topology.h>
#include <sluice/units.h>
// IWYU pragma: end_exports
