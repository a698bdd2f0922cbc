#include "core/counts.h"

#include <sluice/snapshot.h>

#include <algorithm>

namespace sluice {

void SnapshotOptions::describe(Schema& schema) {
  schema
      .choice("mode",
              mode,
              {{"off", SnapshotMode::kOff, "all edges are read as they are needed"},
               {"full", SnapshotMode::kFull, "whole lists of hot nodes; never changes results"},
               {"refresh",
                SnapshotMode::kRefresh,
                "alpha x fanout edges of hot nodes, all drawn anew every period: approximate"},
               {"on_the_fly",
                SnapshotMode::kOnTheFly,
                "the same, a share gamma drawn anew every period: approximate"}})
      .help("in-edges of hot nodes kept in memory beside a topology on disk");
  schema.field("hot", hot)
      .help("memory for them, as a share of what all edges take; unless bytes is given")
      .range(0, 1);
  schema.field("bytes", bytes).help("memory for them; 0: hot says how much").unit("bytes");
  schema.field("alpha", alpha)
      .help("edges kept of a node, times the largest fanout; for the approximate modes")
      .range(1, 1e6);
  schema.field("period", period)
      .help("mini-batches until edges are drawn anew; 1: nothing is reused; not for full")
      .unit("mini-batches")
      .range(1, 1e9);
  schema.field("gamma", gamma)
      .help("share of a node's kept edges drawn anew every period; for on_the_fly")
      .range(1e-6, 1);
  schema
      .choice("hotness",
              hotness,
              {{"degree", SnapshotHotness::kDegree, "nodes that most edges come from"},
               {"look_ahead",
                SnapshotHotness::kLookAhead,
                "nodes that trial mini-batches of the first epoch ask for most"}})
      .help("which nodes are kept: the most expected use a byte");
}

SnapshotStats& SnapshotStats::operator+=(const SnapshotStats& more) {
  const std::uint64_t most = std::max(oldest, more.oldest);
  add_counts(*this, more);
  oldest = most;
  return *this;
}

SnapshotStats SnapshotStats::operator-(const SnapshotStats& before) const {
  SnapshotStats since = counts_since(before, *this);
  since.records = records;
  since.ram_bytes = ram_bytes;
  since.oldest = oldest;
  return since;
}

namespace {
double ratio(double part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : part / static_cast<double>(whole);
}
}  // namespace

double SnapshotStats::hit_rate() const {
  return ratio(static_cast<double>(hits), hits + misses);
}

double SnapshotStats::mean_age() const {
  return ratio(age_sum, hits);
}

double SnapshotStats::distinct_ratio() const {
  return ratio(static_cast<double>(edges_read), hits);
}

double SnapshotStats::bytes_not_read() const {
  return ratio(static_cast<double>(miss_bytes), misses) * static_cast<double>(hits);
}

}  // namespace sluice
