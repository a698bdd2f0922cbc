#include "bench/storage/policy_trace.h"

#include "core/threads.h"
#include "pipeline/plan/epoch_cost.h"
#include "samplers/neighbor_sampler.h"
#include "storage/feature/packed_rows.h"
#include "storage/feature/row_directory.h"

#include <sluice/registry.h>
#include <sluice/samplers/seed_order.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kRunBytes = 64 * 1024;      // requests of neighbouring pages
constexpr std::uint64_t kSweepBytes = 1024 * 1024;  // requests of a sweep

SamplerGraph graph_of(const Dataset& dataset) {
  SamplerGraph graph;
  graph.schema = &dataset.schema();
  for (const RelationSchema& relation : graph.schema->relations)
    graph.relations.push_back(dataset.topology(relation.key()));
  return graph;
}

// Bytes and requests of sorted pages, with gaps of up to `gap` pages read through.
void count_reads(std::span<const std::uint32_t> pages,
                 std::uint64_t gap,
                 std::uint64_t most,
                 Moved& moved) {
  for (std::size_t i = 0; i < pages.size();) {
    std::size_t j = i + 1;
    while (j < pages.size() && pages[j] - pages[j - 1] <= gap + 1 &&
           (pages[j] - pages[i] + 1) * std::uint64_t{kPageBytes} <= most)
      ++j;
    moved.read += (pages[j - 1] - pages[i] + 1) * std::uint64_t{kPageBytes};
    ++moved.requests;
    i = j;
  }
}

std::vector<std::uint32_t> pages_of(std::vector<std::uint64_t>& rows, std::uint32_t row_bytes) {
  const std::uint64_t per_page = kPageBytes / row_bytes;
  std::sort(rows.begin(), rows.end());
  std::vector<std::uint32_t> pages;
  for (const std::uint64_t row : rows) {
    const auto page = static_cast<std::uint32_t>(row / per_page);
    if (pages.empty() || pages.back() != page) pages.push_back(page);
  }
  return pages;
}

// Windows of mini-batches: distinct ids each.
std::vector<std::vector<std::uint64_t>> group(const EpochRows& trace, const WindowWork& how) {
  std::vector<std::vector<std::uint64_t>> all;
  std::vector<std::uint32_t> seen(trace.nodes, 0);  // number of the window that has it
  std::uint64_t batches = 0;
  for (const auto& batch : trace.batches) {
    const auto fresh = [&] {
      return static_cast<std::uint64_t>(std::count_if(
          batch.begin(), batch.end(), [&](auto id) { return seen[id] != all.size(); }));
    };
    if (all.empty() || batches == how.window_batches ||
        all.back().size() + fresh() > how.window_rows) {
      all.emplace_back();
      batches = 0;
    }
    for (const std::uint32_t id : batch) {
      if (seen[id] == all.size()) continue;
      seen[id] = static_cast<std::uint32_t>(all.size());
      all.back().push_back(id);
    }
    ++batches;
  }
  return all;
}

// By window and id: the number of the next window with that id. Windows count from 1.
std::vector<std::vector<std::uint32_t>> next_uses(
    const std::vector<std::vector<std::uint64_t>>& windows, std::uint64_t nodes) {
  std::vector<std::uint32_t> next(nodes, kNeverUsed);
  std::vector<std::vector<std::uint32_t>> all(windows.size());
  for (std::size_t w = windows.size(); w-- > 0;) {
    for (const std::uint64_t id : windows[w]) {
      all[w].push_back(next[id]);
      next[id] = static_cast<std::uint32_t>(w + 1);
    }
  }
  return all;
}

// What a loader without a trace knows: the ids of the next window.
class OneAhead final : public LookAhead {
 public:
  explicit OneAhead(std::uint64_t nodes) : next_(nodes, kNeverUsed) {}
  void set(std::span<const std::uint64_t> ids, std::uint32_t window) {
    for (const std::uint64_t id : ids) next_[id] = window;
    window_ = window;
  }
  std::uint32_t next_use(std::uint64_t id) const override {
    return next_[id] == window_ ? window_ : kNeverUsed;
  }

 private:
  std::vector<std::uint32_t> next_;
  std::uint32_t window_ = kNeverUsed - 1;
};

// Admits windows one by one and gives the missed ids of each to `take`, and how many of them, the
// first, went to slots that no row had before.
template <class Take>
void admit_all(const std::vector<std::vector<std::uint64_t>>& windows,
               std::uint64_t nodes,
               std::uint64_t slots,
               std::unique_ptr<CachePolicy> policy,
               bool whole_epoch,
               Take take) {
  RowDirectory cache(static_cast<std::uint32_t>(slots), 0, std::move(policy), nullptr);
  const auto next = whole_epoch ? next_uses(windows, nodes)
                                : std::vector<std::vector<std::uint32_t>>(windows.size());
  OneAhead ahead(nodes);
  std::vector<std::uint32_t> places, missing;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    if (!whole_epoch && w + 1 < windows.size())
      ahead.set(windows[w + 1], static_cast<std::uint32_t>(w + 2));
    places.resize(windows[w].size());
    const auto admission =
        cache.admit(windows[w], next[w], whole_epoch ? nullptr : &ahead, places, missing);
    std::vector<std::uint64_t> ids;
    ids.reserve(missing.size());
    for (const std::uint32_t i : missing) ids.push_back(windows[w][i]);
    take(ids, admission.fresh);
  }
}

}  // namespace

std::uint64_t EpochRows::total() const {
  std::uint64_t sum = 0;
  for (const auto& batch : batches) sum += batch.size();
  return sum;
}

EpochRows sample_epoch(const Dataset& dataset, const TraceWork& work) {
  const SamplerGraph graph = graph_of(dataset);
  EpochRows trace;
  trace.nodes = graph.schema->nodes.at(0).count;
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t node = 0; node < trace.nodes; ++node) {
    if (RandomKey(7).uniform(node) < work.seed_share) seeds.push_back(node);
  }
  const SeedOrder order(seeds, work.batch_size, Shuffle::kEveryEpoch, RandomKey(1));
  trace.seeds = seeds;
  trace.batches.resize(order.num_batches());
  MemoryLedger ledger;
  ThreadArena arena(work.threads);
  std::atomic<std::size_t> next = 0;
  arena.for_each(static_cast<std::size_t>(arena.threads()), [&](std::size_t) {
    NeighborSampler sampler(graph, {work.fanout}, BlockParts{.transpose = false}, RandomKey(1));
    for (std::size_t b; (b = next++) < trace.batches.size();) {
      const std::vector<std::uint64_t> of_batch = order.batch(0, b);
      const Batch batch = sampler.sample({0, b, b, of_batch}, &ledger).or_throw();
      const auto ids = batch.nodes[0].ids.as<std::uint64_t>();
      trace.batches[b].assign(ids.begin(), ids.end());
    }
  });
  return trace;
}

std::vector<std::uint32_t> neighbour_counts(const Dataset& dataset) {
  const SamplerGraph graph = graph_of(dataset);
  std::vector<std::uint32_t> counts(graph.schema->nodes.at(0).count, 0);
  for (const auto& topology : graph.relations) {
    const CscView& view = *topology->resident();
    for (std::uint64_t e = 0; e < topology->num_edges(); ++e) ++counts[view.neighbour(e)];
  }
  return counts;
}

Moved static_degree(const EpochRows& trace,
                    const std::vector<std::uint32_t>& counts,
                    const PolicyWork& work) {
  std::vector<std::uint32_t> order(trace.nodes);
  std::iota(order.begin(), order.end(), 0u);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(work.cache_rows, trace.nodes));
  std::nth_element(order.begin(), order.begin() + kept, order.end(), [&](auto a, auto b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
  });
  std::vector<bool> cached(trace.nodes);
  for (std::ptrdiff_t i = 0; i < kept; ++i) cached[order[static_cast<std::size_t>(i)]] = true;
  Moved moved;
  for (const auto& batch : trace.batches) {
    std::vector<std::uint64_t> missed;
    for (const std::uint32_t id : batch) {
      if (!cached[id]) missed.push_back(id);
    }
    moved.missed_rows += missed.size();
    count_reads(pages_of(missed, work.row_bytes), 0, kPageBytes, moved);
    ++moved.windows;
  }
  return moved;
}

void order_by_degree(EpochRows& trace, std::vector<std::uint32_t>& counts) {
  std::vector<bool> is_seed(trace.nodes);
  for (const std::uint64_t seed : trace.seeds) is_seed[seed] = true;
  std::vector<std::uint32_t> order(trace.nodes), place(trace.nodes);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : is_seed[a] > is_seed[b];
  });
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (std::uint64_t& seed : trace.seeds) seed = place[seed];
  for (auto& batch : trace.batches) {
    for (std::uint32_t& id : batch) id = place[id];
  }
  std::sort(counts.rbegin(), counts.rend());
}

Moved ginex(const EpochRows& trace, const PolicyWork& work) {
  Moved moved;
  WindowWork how;
  how.window_batches = 1;
  how.window_rows = trace.nodes;
  const auto batches = group(trace, how);
  const auto next = next_uses(batches, trace.nodes);
  std::vector<std::uint32_t> use(trace.nodes, kNeverUsed);
  std::vector<bool> cached(trace.nodes);
  std::vector<std::uint32_t> held;  // the cache's rows, and for a moment the mini-batch's
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (std::size_t i = 0; i < batches[b].size(); ++i) {
      const auto id = static_cast<std::uint32_t>(batches[b][i]);
      use[id] = next[b][i];
      if (cached[id]) continue;
      ++moved.missed_rows;
      cached[id] = true;
      held.push_back(id);
    }
    if (held.size() > work.cache_rows) {
      const auto end = held.begin() + static_cast<std::ptrdiff_t>(work.cache_rows);
      std::nth_element(
          held.begin(), end, held.end(), [&](auto x, auto y) { return use[x] < use[y]; });
      for (auto at = end; at != held.end(); ++at) cached[*at] = false;
      held.erase(end, held.end());
    }
    ++moved.windows;
  }
  moved.requests = moved.missed_rows;
  moved.read = moved.missed_rows * kPageBytes;
  return moved;
}

PlannedBytes windows(const EpochRows& trace,
                     const std::vector<std::uint32_t>& counts,
                     const PolicyWork& work,
                     const WindowWork& how,
                     std::uint64_t gap_pages) {
  PlannedBytes bytes;
  const auto grouped = group(trace, how);
  const FeatureLayout layout = FeatureLayout::make(DType::kF32, work.row_bytes / 4, trace.nodes);
  NeededParts touched(layout, nullptr);
  // As a plan: the cache's memory is shared between the packing and the rows prefilled.
  const std::uint64_t cache_bytes = work.cache_rows * work.row_bytes;
  std::uint64_t prefill = slots_to_prefill(PlanChoice::kAuto,
                                           grouped.size(),
                                           layout,
                                           cache_bytes,
                                           static_cast<std::uint32_t>(work.cache_rows));
  const auto policy = builtin_caches().create({how.policy, nullptr});
  admit_all(grouped,
            trace.nodes,
            work.cache_rows,
            policy->make([&](std::uint64_t id) { return counts[id]; }),
            how.whole_epoch_known,
            [&](std::vector<std::uint64_t>& missed, std::uint64_t fresh) {
              const std::uint64_t straight = std::min(fresh, prefill);
              prefill -= straight;
              const std::uint64_t packed = missed.size() - straight;
              for (const std::uint64_t row : missed) touched.add(row);
              const auto pages = pages_of(missed, work.row_bytes);
              for (Moved* moved : {&bytes.direct, &bytes.sweep, &bytes.repack}) {
                moved->missed_rows += missed.size();
                ++moved->windows;
              }
              count_reads(pages, 0, kRunBytes, bytes.direct);
              count_reads(pages, gap_pages, kSweepBytes, bytes.sweep);
              // Its rows in a run of their own, rounded to pages. Lists of ids are counted for
              // nobody.
              const std::uint64_t run = round_up_to_page(packed * work.row_bytes);
              bytes.repack.written += run;
              bytes.repack.read += run;
              bytes.repack.requests += run / kSweepBytes + 1;
            });
  const std::uint64_t scanned = touched.needed() * touched.rows_a_part() * work.row_bytes;
  bytes.repack.read += scanned;
  bytes.repack.requests += scanned / kSweepBytes + 1;
  return bytes;
}

}  // namespace sluice::bench
