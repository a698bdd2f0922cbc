// TemporalSource: one relation's events, wherever they are kept, as TemporalSampler asks for them:
// a call for many queries at once, so that a source on disk reads each page once.
//
// Two bodies, with the same answers bit for bit: ResidentEvents here, PagedEvents (paged_events.h).
// Immutable: any number of threads may use one.
#pragma once

#include "samplers/temporal_graph.h"
#include "samplers/temporal_rows.h"

#include <sluice/error.h>
#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace sluice {

struct SamplerGraph;
struct TemporalHopRule;

/// Which events of a time itself are counted.
enum class TimeTies { kNone, kAll };

class TemporalSource {
 public:
  virtual ~TemporalSource() = default;

  virtual std::uint64_t num_edges() const = 0;
  /// Whether edges have ids that are stored, and not their positions.
  virtual bool has_edge_ids() const = 0;
  /// TemporalView::one_type.
  virtual bool one_type() const = 0;

  /// Fills the rows of queries [begin, end). Scratch is charged to `ledger`, which may be null.
  /// Errors: kResource; on disk kIo and kData too. @pre as fill_temporal_rows()
  virtual Result<void> fill(const TemporalHopRule& rule,
                            const TemporalQueries& queries,
                            const TemporalRows& out,
                            std::size_t begin,
                            std::size_t end,
                            MemoryLedger* ledger) const = 0;

  /// Adds to counts[i] the events of nodes[i] before times[i], or up to it. Errors: as fill().
  virtual Result<void> count(std::span<const std::uint64_t> nodes,
                             std::span<const std::int64_t> times,
                             TimeTies ties,
                             std::span<std::int64_t> counts) const = 0;
};

/// Of a graph in RAM.
class ResidentEvents final : public TemporalSource {
 public:
  explicit ResidentEvents(TemporalGraph graph) : graph_(std::move(graph)) {}

  std::uint64_t num_edges() const override { return graph_.view().num_edges(); }
  bool has_edge_ids() const override { return graph_.view().has_edge_ids(); }
  bool one_type() const override { return graph_.view().one_type; }
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

 private:
  TemporalGraph graph_;
};

/// The events of a relation of `graph`, on disk or in RAM; null where it has no times.
std::shared_ptr<const TemporalSource> temporal_source(const SamplerGraph& graph,
                                                      std::size_t relation);

}  // namespace sluice
