#include "samplers/temporal_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>  // NOLINT(misc-include-cleaner): placement new
#include <string>
#include <utility>

namespace sluice {
namespace {

Error damaged(std::string what) {
  return Error(ErrorCode::kData, "the temporal graph is damaged: " + std::move(what));
}

Result<void> check_sizes(const TemporalView& view) {
  if (view.offsets.empty()) return damaged("it has no offsets");
  if (view.has_records()) return damaged("records are made by as_records()");
  const std::uint64_t edges = view.times.size();
  const std::uint64_t neighbours = view.neighbours32.size() + view.neighbours64.size();
  const std::uint64_t ids = view.edge_ids32.size() + view.edge_ids64.size();
  if (neighbours != edges || (ids != 0 && ids != edges)) {
    return damaged(
        fmt::format("{} neighbours and {} edge ids for {} times", neighbours, ids, edges));
  }
  if (view.offsets.front() != 0 || view.offsets.back() != edges ||
      !std::is_sorted(view.offsets.begin(), view.offsets.end())) {
    return damaged(fmt::format("its offsets do not ascend from 0 to {}", edges));
  }
  return {};
}

// Searches would give wrong answers without a word where a list is out of order.
Result<void> check_order(const TemporalView& view) {
  for (std::uint64_t node = 0; node < view.num_nodes(); ++node) {
    for (std::uint64_t at = view.offsets[node] + 1; at < view.offsets[node + 1]; ++at) {
      if (view.times[at - 1] < view.times[at]) continue;
      if (view.times[at - 1] == view.times[at] && view.edge_id(at - 1) <= view.edge_id(at))
        continue;
      return damaged(fmt::format(
          "position {} of node {} comes before the one ahead of it in (time, edge id)", at, node));
    }
  }
  return {};
}

Result<void> check(const TemporalView& view) {
  if (auto sizes = check_sizes(view); !sizes) return sizes;
  return check_order(view);
}

void take_ids(const Array& ids,
              std::span<const std::uint32_t>& narrow,
              std::span<const std::uint64_t>& wide) {
  if (ids.empty()) return;
  if (ids.dtype() == DType::kU32) {
    narrow = ids.as<std::uint32_t>();
  } else {
    wide = ids.as<std::uint64_t>();
  }
}

struct Loaded {
  std::shared_ptr<Topology> topology;
  Array times;
  Array offsets;  // of all nodes, where the topology lists those that have edges
};

// Offsets of all nodes: events are searched by node at every hop.
Result<Array> offsets_of_all(const CscView& csc, std::uint64_t nodes, MemoryLedger* ledger) {
  auto made = Array::make(DType::kU64, {static_cast<std::int64_t>(nodes) + 1}, ledger, "topology");
  if (!made) return made;
  const auto offsets = made.value().as<std::uint64_t>();
  std::size_t list = 0;
  offsets[0] = 0;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    if (list < csc.listed.size() && csc.listed.node(list) == node) ++list;
    offsets[node + 1] = csc.offsets[list];
  }
  return made;
}

template <class Id>
Result<std::span<const TemporalRecord<Id>>> make_records(const TemporalView& view,
                                                         Array& array,
                                                         MemoryLedger* ledger) {
  using Record = TemporalRecord<Id>;
  const auto bytes = static_cast<std::int64_t>(view.num_edges() * sizeof(Record));
  auto made = Array::make(DType::kU8, {bytes}, ledger, "topology");
  if (!made) return std::move(made).error();
  array = std::move(made).value();
  auto* records = static_cast<Record*>(array.data());
  for (std::uint64_t at = 0; at < view.num_edges(); ++at) {
    new (records + at) Record{
        view.time(at), static_cast<Id>(view.neighbour(at)), static_cast<Id>(view.edge_id(at))};
  }
  return std::span<const Record>(records, view.num_edges());
}

struct KeptRecords {
  Array offsets, records;
};

}  // namespace

Result<TemporalGraph> TemporalGraph::as_records(MemoryLedger* ledger) const {
  auto kept = std::make_shared<KeptRecords>();
  auto offsets = Array::make(
      DType::kU64, {static_cast<std::int64_t>(view_.offsets.size())}, ledger, "topology");
  if (!offsets) return std::move(offsets).error();
  kept->offsets = std::move(offsets).value();
  std::ranges::copy(view_.offsets, kept->offsets.as<std::uint64_t>().begin());
  TemporalView view;
  view.offsets = std::as_const(kept->offsets).as<std::uint64_t>();
  view.one_type = view_.one_type;
  view.position_ids = !view_.has_edge_ids();
  const bool wide_ids =
      view.position_ids ? view_.num_edges() > (std::uint64_t{1} << 32) : !view_.edge_ids64.empty();
  if (wide_ids || !view_.neighbours64.empty() || !view_.records64.empty()) {
    auto made = make_records<std::uint64_t>(view_, kept->records, ledger);
    if (!made) return std::move(made).error();
    view.records64 = made.value();
  } else {
    auto made = make_records<std::uint32_t>(view_, kept->records, ledger);
    if (!made) return std::move(made).error();
    view.records32 = made.value();
  }
  TemporalGraph graph(view);
  graph.kept_ = kept;
  return graph;
}

Result<TemporalGraph> TemporalGraph::over(const TemporalView& view) {
  if (auto checked = check(view); !checked) return std::move(checked).error();
  return TemporalGraph(view);
}

Result<TemporalGraph> TemporalGraph::own(TemporalArrays arrays) {
  const auto kept = std::make_shared<const TemporalArrays>(std::move(arrays));
  TemporalView view;
  view.offsets = kept->offsets.as<std::uint64_t>();
  view.times = kept->times.as<std::int64_t>();
  view.one_type = kept->one_type;
  take_ids(kept->neighbours, view.neighbours32, view.neighbours64);
  take_ids(kept->edge_ids, view.edge_ids32, view.edge_ids64);
  auto made = over(view);
  if (made) made.value().kept_ = kept;
  return made;
}

Result<TemporalGraph> TemporalGraph::of(std::shared_ptr<Topology> topology,
                                        Array times,
                                        bool one_type,
                                        MemoryLedger* ledger) {
  const auto loaded = std::make_shared<Loaded>(std::move(topology), std::move(times), Array());
  const CscView& csc = *loaded->topology->resident();
  TemporalView view;
  view.offsets = csc.offsets;
  if (csc.listed.in_use()) {
    auto offsets = offsets_of_all(csc, loaded->topology->num_targets(), ledger);
    if (!offsets) return std::move(offsets).error();
    loaded->offsets = std::move(offsets).value();
    view.offsets = std::as_const(loaded->offsets).as<std::uint64_t>();
  }
  view.neighbours32 = csc.neighbours32;
  view.neighbours64 = csc.neighbours64;
  view.edge_ids32 = csc.edge_ids32;
  view.edge_ids64 = csc.edge_ids64;
  view.times = std::as_const(loaded->times).as<std::int64_t>();
  view.one_type = one_type;
  auto made = over(view);
  if (made) made.value().kept_ = loaded;
  return made;
}

Result<TemporalGraph> TemporalGraph::load(const Dataset& dataset, std::string_view key) try {
  const RelationSchema* relation = dataset.schema().relation(key);
  Array times = dataset.edge_times(key);  // says so where there are none, or no such relation
  return of(dataset.topology(key),
            std::move(times),
            relation->source == relation->target,
            dataset.ledger());
} catch (const Error& error) {
  return error;
}

}  // namespace sluice
