#include "storage/topology/resident_topology.h"

#include "storage/format/data_file_reader.h"
#include "storage/topology/topology_errors.h"

#include <algorithm>

namespace sluice {
namespace {

void check_offsets(const std::filesystem::path& path,
                   std::span<const std::uint64_t> offsets,
                   std::uint64_t edges) {
  const bool sound = offsets.front() == 0 && offsets.back() == edges &&
                     std::is_sorted(offsets.begin(), offsets.end());
  if (!sound) throw offsets_error(path, edges);
}

template <class Id>
void check_neighbours(const std::filesystem::path& path,
                      std::span<const Id> neighbours,
                      std::uint64_t num_sources) {
  const auto largest = std::max_element(neighbours.begin(), neighbours.end());
  if (largest != neighbours.end() && *largest >= num_sources) {
    const auto place = static_cast<std::uint64_t>(largest - neighbours.begin());
    throw neighbour_error(path, *largest, num_sources, place * sizeof(Id));
  }
}

}  // namespace

std::unique_ptr<ResidentTopology> ResidentTopology::load(const std::filesystem::path& root,
                                                         const Manifest& manifest,
                                                         const RelationSchema& relation,
                                                         const DatasetOptions& options) {
  auto topology = std::make_unique<ResidentTopology>();
  topology->num_sources_ = manifest.schema.node_type(relation.source)->count;
  const std::uint64_t targets = manifest.schema.node_type(relation.target)->count;
  const auto edges = static_cast<std::int64_t>(relation.edges);
  const auto load = [&](const char* file, DType dtype, std::int64_t count) {
    return load_array(
               root, manifest, relation_path(relation, file), dtype, {count}, options, "topology")
        .or_throw();
  };
  topology->offsets_ = load("offsets.bin", DType::kU64, static_cast<std::int64_t>(targets) + 1);
  topology->neighbours_ = load("neighbours.bin", node_id_dtype(topology->num_sources_), edges);
  if (relation.has_edge_ids)
    topology->edge_ids_ = load("edge_ids.bin", relation.edge_id_dtype(), edges);

  CscView& view = topology->view_;
  view.offsets = std::as_const(topology->offsets_).as<std::uint64_t>();
  check_offsets(root / relation_path(relation, "offsets.bin"), view.offsets, relation.edges);
  const std::filesystem::path neighbours_path = root / relation_path(relation, "neighbours.bin");
  if (topology->neighbours_.dtype() == DType::kU32) {
    view.neighbours32 = std::as_const(topology->neighbours_).as<std::uint32_t>();
    check_neighbours(neighbours_path, view.neighbours32, topology->num_sources_);
  } else {
    view.neighbours64 = std::as_const(topology->neighbours_).as<std::uint64_t>();
    check_neighbours(neighbours_path, view.neighbours64, topology->num_sources_);
  }
  return topology;
}

Result<void> ResidentTopology::ranges(std::span<const std::uint64_t> targets,
                                      std::span<EdgeRange> out) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    out[i] = {view_.offsets[targets[i]], view_.offsets[targets[i] + 1]};
  }
  return {};
}

Result<void> ResidentTopology::neighbours(std::span<const std::uint64_t> positions,
                                          std::span<std::uint64_t> out) {
  for (std::size_t i = 0; i < positions.size(); ++i) out[i] = view_.neighbour(positions[i]);
  return {};
}

Result<void> ResidentTopology::edge_ids(std::span<const std::uint64_t> positions,
                                        std::span<std::uint64_t> out) {
  if (edge_ids_.empty()) {
    std::copy(positions.begin(), positions.end(), out.begin());
  } else if (edge_ids_.dtype() == DType::kU32) {
    const auto ids = std::as_const(edge_ids_).as<std::uint32_t>();
    for (std::size_t i = 0; i < positions.size(); ++i) out[i] = ids[positions[i]];
  } else {
    const auto ids = std::as_const(edge_ids_).as<std::uint64_t>();
    for (std::size_t i = 0; i < positions.size(); ++i) out[i] = ids[positions[i]];
  }
  return {};
}

}  // namespace sluice
