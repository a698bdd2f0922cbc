// Datasets of edges alone, written as they are given: also ones that no tool would write.
#pragma once

#include "storage/format/dataset_writer.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::test {

/// A relation's arrays as FORMAT.md has them; no edge ids: an empty list.
struct CscArrays {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> neighbours;
  std::vector<std::uint64_t> edge_ids;
};

inline void write_ids(DatasetWriter& writer,
                      const std::string& path,
                      DType dtype,
                      const std::vector<std::uint64_t>& ids) {
  if (dtype == DType::kU64) return writer.write(path, std::span<const std::uint64_t>(ids));
  const std::vector<std::uint32_t> narrow(ids.begin(), ids.end());
  writer.write(path, std::span<const std::uint32_t>(narrow));
}

/// Adds a relation between types that the writer's schema has. @param edge_id_bound decides the
/// ids' width
inline void add_csc(DatasetWriter& writer,
                    RelationSchema relation,
                    const CscArrays& csc,
                    std::uint64_t edge_id_bound = 1 << 30) {
  relation.edges = csc.neighbours.size();
  relation.has_edge_ids = !csc.edge_ids.empty();
  relation.edge_id_bound = relation.has_edge_ids ? edge_id_bound : 0;
  const DType width = node_id_dtype(writer.schema().node_type(relation.source)->count);
  writer.write(relation_path(relation, "offsets.bin"), std::span<const std::uint64_t>(csc.offsets));
  write_ids(writer, relation_path(relation, "neighbours.bin"), width, csc.neighbours);
  if (relation.has_edge_ids) {
    write_ids(
        writer, relation_path(relation, "edge_ids.bin"), relation.edge_id_dtype(), csc.edge_ids);
  }
  writer.schema().relations.push_back(relation);
}

/// One relation "s__r__t" from `num_sources` nodes.
inline void write_csc(const std::filesystem::path& path,
                      std::uint64_t num_sources,
                      const CscArrays& csc,
                      std::uint64_t edge_id_bound = 1 << 30) {
  DatasetWriter writer(path, Overwrite::kRefuse, nullptr);
  writer.schema().nodes.push_back({.name = "s", .count = num_sources});
  writer.schema().nodes.push_back({.name = "t", .count = csc.offsets.size() - 1});
  add_csc(writer, {.source = "s", .name = "r", .target = "t"}, csc, edge_id_bound);
  writer.commit("test");
}

}  // namespace sluice::test
