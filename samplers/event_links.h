// EventLinks: the edges of a relation with times as links, in the order of (time, edge id): number
// 0 was first. A range of the numbers is a stretch of time.
#pragma once

#include "core/threads.h"
#include "samplers/temporal_graph.h"

#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/samplers/links.h>

#include <cstdint>
#include <memory>

namespace sluice {

class EventLinks final : public Links {
 public:
  /// All edges; charged to `ledger` as "events": 8 bytes an edge, and as much again while they are
  /// put in order. Errors: kResource.
  static Result<EventLinks> make(std::shared_ptr<const TemporalGraph> graph,
                                 ThreadArena& arena,
                                 MemoryLedger* ledger);
  /// Those numbered [first, last) here, numbered from 0; shares what this has. @pre first <= last
  /// <= size()
  EventLinks range(std::uint64_t first, std::uint64_t last) const;
  /// Those whose edge ids are in [first, last), in the same order; charged as above. Errors:
  /// kResource.
  Result<EventLinks> with_ids(std::uint64_t first, std::uint64_t last, MemoryLedger* ledger) const;
  /// These and others of the same graph, in order; charged as above. Errors: kResource.
  Result<EventLinks> merged_with(const EventLinks& others, MemoryLedger* ledger) const;
  /// How many were before a time.
  std::uint64_t before(std::int64_t time) const { return before(time, 0); }
  /// How many were before a place in (time, edge id).
  std::uint64_t before(std::int64_t time, std::uint64_t id) const;
  /// When one was. @pre number < size()
  std::int64_t time(std::uint64_t number) const { return graph_->view().time(position(number)); }

  std::uint64_t size() const override { return last_ - first_; }
  bool have_ids() const override { return true; }
  bool have_times() const override { return true; }
  Result<void> find(std::span<const std::uint64_t> numbers, const Ends& out) const override;

 private:
  EventLinks(std::shared_ptr<const TemporalGraph> graph, Array order);

  std::uint64_t position(std::uint64_t number) const {
    return order_.as<std::uint64_t>()[first_ + number];
  }

  std::shared_ptr<const TemporalGraph> graph_;
  Array order_;  // u64 [edges]: positions among the graph's edges
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace sluice
