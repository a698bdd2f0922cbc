// TemporalSampler: for nodes at a time, events of before: the most recent ones, or a uniform sample
// without replacement, over one or more hops of one relation (as TGAT: Xu et al., ICLR 2020, and
// TGN: Rossi et al., 2020, take them; exact here).
//
// An answer is a function of (graph, seed, epoch, hop, relation, node, query time) and, where the
// visibility says so, of the event or the cut: never of batch mates, order, threads or earlier
// calls. Immutable: any number of threads may use one sampler.
#pragma once

#include "core/threads.h"
#include "samplers/temporal_graph.h"
#include "samplers/temporal_rows.h"

#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/options.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice {

enum class TemporalStrategy { kRecent, kUniform };

/// Which events (t', id') a query at time t may see. Later hops ask at the time t of the edge they
/// came by.
enum class TemporalVisibility {
  kStrict,      ///< t' < t
  kEventOrder,  ///< (t', id') < (t, id of the query's event); in later hops, of the edge
  /// (t', id') < the batch's cut, and also t' < t where t is before the cut's time; in later hops
  /// t' < t
  kBatchLag,
  kInclusive,  ///< t' <= t, as rows of databases are joined: the query's own event may be among
               ///< them
};

std::string_view to_string(TemporalVisibility visibility);

struct TemporalSamplerOptions {
  TemporalStrategy strategy = TemporalStrategy::kRecent;
  /// Events a query, one number a hop, the first next to the seeds. Rows grow by the product.
  std::vector<std::int64_t> count{10};
  /// Only events of [t - window, t] that are visible; ticks of the dataset's times. 0: no bound.
  std::int64_t window = 0;
  TemporalVisibility visibility = TemporalVisibility::kStrict;

  void describe(Schema& schema);
  // As SamplerKind asks.
  std::size_t num_layers() const { return count.size(); }
  bool needs_times() const { return true; }
  bool needs_events() const { return visibility == TemporalVisibility::kEventOrder; }
  std::string_view visible() const { return to_string(visibility); }
};

/// Rows of one length with counts, or events end to end with offsets.
enum class TemporalForm { kPadded, kPacked };

/// A hop's answers, charged as "batches".
struct TemporalHop {
  Array counts;      ///< i32 [queries]: events of each row
  Array offsets;     ///< packed: i64 [queries + 1]; padded: empty
  Array neighbours;  ///< u64 [queries, count] or [events]; as TemporalRows, so the others
  Array edge_ids;    ///< u64
  Array times;       ///< i64
  Array deltas;      ///< i64
};

struct TemporalSample {
  TemporalForm form = TemporalForm::kPadded;
  TemporalVisibility visibility = TemporalVisibility::kStrict;
  /// hops[h] answers the entries of hops[h - 1]: all of a padded form, the events of a packed one.
  std::vector<TemporalHop> hops;
};

class TemporalSampler {
 public:
  using Options = TemporalSamplerOptions;

  /// Queries that a thread takes at a time.
  static constexpr std::size_t kGrain = 512;

  /// @param key of the run's seed; `relation` its place in GraphSchema::relations, which keys the
  /// draws; `ledger` (or null) is charged and must outlive this and what it returns. Throws kUsage
  /// for options out of range, later hops over two node types, and event ids as an order where the
  /// graph has none.
  TemporalSampler(TemporalGraph graph,
                  Options options,
                  RandomKey key,
                  std::uint64_t relation = 0,
                  MemoryLedger* ledger = nullptr);

  std::size_t num_hops() const { return options_.count.size(); }
  const Options& options() const { return options_; }
  const TemporalGraph& graph() const { return graph_; }

  /// One hop into the caller's memory, on this thread, or on the arena's. O(count + log degree) a
  /// query. Allocates nothing on this thread where count is at most PositionChooser::kFew or the
  /// strategy is recent. Errors: kUsage for spans whose sizes do not agree, and a cut that is
  /// missing; kResource.
  Result<void> fill(std::size_t hop, const TemporalRequest& request, const TemporalRows& out) const;
  Result<void> fill(std::size_t hop,
                    const TemporalRequest& request,
                    const TemporalRows& out,
                    ThreadArena& arena) const;

  /// All hops. A packed form takes the memory of a padded one for a hop at a time. Errors: as
  /// fill().
  Result<TemporalSample> sample(const TemporalRequest& request,
                                TemporalForm form,
                                ThreadArena& arena) const;

 private:
  Result<void> check(std::size_t hop,
                     const TemporalRequest& request,
                     const TemporalRows& out) const;
  Result<void> fill_range(std::size_t hop,
                          const TemporalRequest& request,
                          const TemporalRows& out,
                          std::size_t begin,
                          std::size_t end) const;

  TemporalGraph graph_;
  Options options_;
  RandomKey key_;
  std::uint64_t relation_;
  MemoryLedger* ledger_;
};

}  // namespace sluice
