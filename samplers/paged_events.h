// PagedEvents: a relation's events that stay on disk: a PagedTopology's neighbours and edge ids,
// and PagedTimes beside them. The same rows as from RAM, bit for bit.
//
// A call goes through its queries in chunks: where their lists are (RAM), where the visible events
// end and a window begins (one page of times a query, one of ids where ties are decided by them),
// and then the chosen events, each page of each file once a chunk.
#pragma once

#include "samplers/temporal_source.h"
#include "storage/topology/paged_times.h"

#include <sluice/dataset.h>
#include <sluice/topology.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace sluice {

class PagedEvents final : public TemporalSource {
 public:
  /// @param topology of the relation, on disk. Errors: kUsage for a relation without times or with
  /// appended edges; as PagedTimes::open(). What it holds is charged to the dataset's ledger.
  static Result<std::shared_ptr<const PagedEvents>> open(const Dataset& dataset,
                                                         std::string_view relation,
                                                         std::shared_ptr<Topology> topology,
                                                         const TopologyOptions& options);

  std::uint64_t num_edges() const override { return topology_->num_edges(); }
  bool has_edge_ids() const override { return has_edge_ids_; }
  bool one_type() const override { return one_type_; }
  Result<void> fill(const TemporalHopRule& rule,
                    const TemporalQueries& queries,
                    const TemporalRows& out,
                    std::size_t begin,
                    std::size_t end,
                    MemoryLedger* ledger) const override;
  Result<void> count(std::span<const std::uint64_t> nodes,
                     std::span<const std::int64_t> times,
                     TimeTies ties,
                     std::span<std::int64_t> counts) const override;

  /// Of times alone; the topology counts its own.
  std::uint64_t bytes_read() const { return times_->bytes_read(); }

 private:
  class Chunk;

  PagedEvents(std::shared_ptr<Topology> topology,
              std::shared_ptr<PagedTimes> times,
              bool has_edge_ids,
              bool one_type)
      : topology_(std::move(topology)),
        times_(std::move(times)),
        has_edge_ids_(has_edge_ids),
        one_type_(one_type) {}

  Result<void> find_lists(std::span<const std::uint64_t> nodes, std::span<EdgeRange> lists) const;
  Result<void> find(std::span<const PagedTimes::Ask> asks, std::span<std::uint64_t> places) const;

  std::shared_ptr<Topology> topology_;
  std::shared_ptr<PagedTimes> times_;
  bool has_edge_ids_;
  bool one_type_;
};

}  // namespace sluice
