#include "storage/topology/resident_topology.h"

#include "storage/format/appended_edges.h"
#include "storage/format/data_file_reader.h"
#include "storage/topology/topology_errors.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

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
                                                         const DatasetOptions& options,
                                                         IoChoice io) {
  auto topology = std::make_unique<ResidentTopology>();
  topology->num_sources_ = manifest.schema.node_type(relation.source)->count;
  topology->num_targets_ = manifest.schema.node_type(relation.target)->count;
  const auto edges = static_cast<std::int64_t>(relation.edges);
  const auto load = [&](const char* file, DType dtype, std::int64_t count) {
    return load_array(root,
                      manifest,
                      relation_path(relation, file),
                      dtype,
                      {count},
                      options,
                      "topology",
                      io)
        .or_throw();
  };
  topology->offsets_ = RelationOffsets::load(root, manifest, relation, options, io).or_throw();
  topology->show_offsets();
  topology->neighbours_ = load("neighbours.bin", node_id_dtype(topology->num_sources_), edges);
  if (relation.has_edge_ids)
    topology->edge_ids_ = load("edge_ids.bin", relation.edge_id_dtype(), edges);

  CscView& view = topology->view_;
  if (relation.appended != 0) {
    const RelationLog log = RelationLog::load(root, manifest, relation, options).or_throw();
    topology->merge(log.source(view.offsets, view.listed), relation, options);
  }
  const std::filesystem::path neighbours_path = root / relation_path(relation, "neighbours.bin");
  if (topology->neighbours_.dtype() == DType::kU32) {
    view.neighbours32 = std::as_const(topology->neighbours_).as<std::uint32_t>();
    check_neighbours(neighbours_path, view.neighbours32, topology->num_sources_);
  } else {
    view.neighbours64 = std::as_const(topology->neighbours_).as<std::uint64_t>();
    check_neighbours(neighbours_path, view.neighbours64, topology->num_sources_);
  }
  const Array& ids = topology->edge_ids_;
  if (!ids.empty() && ids.dtype() == DType::kU32) view.edge_ids32 = ids.as<std::uint32_t>();
  if (!ids.empty() && ids.dtype() == DType::kU64) view.edge_ids64 = ids.as<std::uint64_t>();
  return topology;
}

void ResidentTopology::show_offsets() {
  view_.offsets = std::as_const(offsets_).values();
  view_.listed = offsets_.listed.view();
}

// Merges the log's edges into the lists.
void ResidentTopology::merge(const MergedOrder::Source& source,
                             const RelationSchema& relation,
                             const DatasetOptions& options) {
  const auto log = source.log;
  const MergedOrder order = MergedOrder::make(source, options.ledger).or_throw();
  const auto edges = static_cast<std::int64_t>(relation.edges + relation.appended);
  const auto make = [&](DType dtype, std::int64_t count) {
    return Array::make(dtype, {count}, options.ledger, "topology").or_throw();
  };
  const auto merge_column = [&]<class From, class To>(Array& column, From, To, const auto& of_row) {
    Array merged = make(dtype_of<To>, edges);
    order.merge_column(std::as_const(column).as<From>(), merged.as<To>(), of_row);
    column = std::move(merged);
  };
  const auto source_of = [&](std::uint64_t row) { return appended_edge(log, row).source; };
  if (neighbours_.dtype() == DType::kU32) {
    merge_column(neighbours_, std::uint32_t{}, std::uint32_t{}, source_of);
  } else {
    merge_column(neighbours_, std::uint64_t{}, std::uint64_t{}, source_of);
  }
  if (relation.has_edge_ids) {
    // In 64 bits: the log's ids may not fit what the file's were stored in.
    const auto id_of = [&](std::uint64_t row) { return appended_edge(log, row).id; };
    if (edge_ids_.dtype() == DType::kU32) {
      merge_column(edge_ids_, std::uint32_t{}, std::uint64_t{}, id_of);
    } else {
      merge_column(edge_ids_, std::uint64_t{}, std::uint64_t{}, id_of);
    }
  }
  offsets_ = offsets_.merged(order, source, options.ledger).or_throw();
  show_offsets();
}

namespace {

// Moves the elements that stay to the front; returns how many they are.
template <class T>
std::size_t close_gaps(std::span<T> elements, std::span<const std::uint64_t> removed) {
  std::size_t to = removed.empty() ? elements.size() : removed.front();
  for (std::size_t i = 0; i < removed.size(); ++i) {
    const std::size_t from = removed[i] + 1;
    const std::size_t end = i + 1 < removed.size() ? removed[i + 1] : elements.size();
    std::copy(elements.begin() + static_cast<std::ptrdiff_t>(from),
              elements.begin() + static_cast<std::ptrdiff_t>(end),
              elements.begin() + static_cast<std::ptrdiff_t>(to));
    to += end - from;
  }
  return to;
}

}  // namespace

void ResidentTopology::remove(RemovedPositions removed) {
  const auto gone = removed.all();
  const auto close = [&](Array& array, auto& narrow, auto& wide) {
    if (array.empty()) return;
    if (array.dtype() == DType::kU32) {
      narrow = narrow.first(close_gaps(array.as<std::uint32_t>(), gone));
    } else {
      wide = wide.first(close_gaps(array.as<std::uint64_t>(), gone));
    }
  };
  close(neighbours_, view_.neighbours32, view_.neighbours64);
  close(edge_ids_, view_.edge_ids32, view_.edge_ids64);
  std::size_t before = 0;
  for (std::uint64_t& offset : offsets_.offsets.as<std::uint64_t>()) {
    while (before < gone.size() && gone[before] < offset) ++before;
    offset -= before;
  }
  if (edge_ids_.empty()) removed_ = std::move(removed);
}

Result<void> ResidentTopology::ranges(std::span<const std::uint64_t> targets,
                                      std::span<EdgeRange> out) {
  for (std::size_t i = 0; i < targets.size(); ++i) out[i] = view_.range(targets[i]);
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
    std::ranges::transform(positions, out.begin(), [&](std::uint64_t kept) {
      return removed_.empty() ? kept : removed_.original(kept);
    });
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
