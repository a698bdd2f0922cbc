// A test graph as a dataset on disk, and opened as samplers take it.
#pragma once

#include "sampler_support.h"

#include "support/graph_dataset.h"

#include <sluice/dataset.h>

#include <filesystem>

namespace sluice::test {

inline void write_graph(const std::filesystem::path& path, const TestGraph& graph) {
  DatasetWriter writer(path, Overwrite::kRefuse, nullptr);
  writer.schema().nodes = graph.schema.nodes;
  for (std::size_t r = 0; r < graph.edges.size(); ++r) {
    CscArrays csc{{0}, {}, {}};
    for (const auto& list : graph.edges[r]) {
      for (const auto& [source, id] : list) {
        csc.neighbours.push_back(source);
        csc.edge_ids.push_back(id);
      }
      csc.offsets.push_back(csc.neighbours.size());
    }
    const RelationSchema& relation = graph.schema.relations[r];
    add_csc(
        writer, {.source = relation.source, .name = relation.name, .target = relation.target}, csc);
  }
  writer.commit("test");
}

inline SamplerGraph open_graph(const Dataset& dataset, const TopologyOptions& options) {
  SamplerGraph graph{&dataset.schema(), {}};
  for (const RelationSchema& relation : dataset.schema().relations)
    graph.relations.push_back(dataset.topology(relation.key(), options));
  return graph;
}

}  // namespace sluice::test
