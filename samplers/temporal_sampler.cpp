#include "samplers/temporal_sampler.h"

#include "samplers/temporal_fill.h"

#include <sluice/mutex.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::int64_t kMaxCount = 0x7fffffff;

void check_options(const TemporalSamplerOptions& options, const TemporalView& view) {
  for (const std::int64_t count : options.count) {
    if (count >= 1 && count <= kMaxCount) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("[sampler] count holds {}; it must be 1 to {}", count, kMaxCount),
                "for example count = [10, 10]");
  }
  if (options.window < 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("[sampler] window is {}; it must not be negative", options.window),
                "window = 0 takes events of any age");
  }
  if (options.count.size() > 1 && !view.one_type) {
    throw Error(ErrorCode::kUsage,
                "a later hop cannot start at nodes of another type than the seeds'",
                "give [sampler] count one number, for one hop");
  }
  if (options.visibility == TemporalVisibility::kEventOrder && !view.has_edge_ids() &&
      view.num_edges() != 0) {
    throw Error(ErrorCode::kUsage,
                "visibility = \"event_order\" needs edge ids, and the relation stores none",
                "import it with edge_ids = true");
  }
}

Error wrong_sizes(std::string_view what, std::size_t there, std::size_t needed) {
  return Error(ErrorCode::kUsage,
               fmt::format("temporal sampling: {} {} where there must be {}", there, what, needed));
}

// A column of a hop; its pieces are the queries' rows.
template <class T>
Result<std::span<T>> make_column(Array& array, Array::Shape shape, MemoryLedger* ledger) {
  auto made = Array::make(dtype_of<T>, std::move(shape), ledger, "batches");
  if (!made) return std::move(made).error();
  array = std::move(made).value();
  return array.as<T>();
}

// The other columns, of one shape.
Result<void> make_columns(TemporalHop& hop,
                          const Array::Shape& shape,
                          MemoryLedger* ledger,
                          TemporalRows& rows) {
  auto neighbours = make_column<std::uint64_t>(hop.neighbours, shape, ledger);
  if (!neighbours) return std::move(neighbours).error();
  auto edge_ids = make_column<std::uint64_t>(hop.edge_ids, shape, ledger);
  if (!edge_ids) return std::move(edge_ids).error();
  auto times = make_column<std::int64_t>(hop.times, shape, ledger);
  if (!times) return std::move(times).error();
  auto deltas = make_column<std::int64_t>(hop.deltas, shape, ledger);
  if (!deltas) return std::move(deltas).error();
  rows.neighbours = neighbours.value();
  rows.edge_ids = edge_ids.value();
  rows.times = times.value();
  rows.deltas = deltas.value();
  return {};
}

Result<TemporalRows> make_rows(TemporalHop& hop,
                               std::size_t queries,
                               std::int64_t count,
                               MemoryLedger* ledger) {
  const auto size = static_cast<std::int64_t>(queries);
  auto counts = make_column<std::int32_t>(hop.counts, {size}, ledger);
  if (!counts) return std::move(counts).error();
  TemporalRows rows{.counts = counts.value(), .neighbours = {}};
  if (auto made = make_columns(hop, {size, count}, ledger, rows); !made)
    return std::move(made).error();
  return rows;
}

// The events of `rows` end to end, in arrays of just their size.
Result<TemporalHop> pack(TemporalHop padded,
                         const TemporalRows& rows,
                         std::size_t width,
                         ThreadArena& arena,
                         MemoryLedger* ledger) {
  TemporalHop hop;
  const std::size_t queries = rows.counts.size();
  auto made =
      make_column<std::int64_t>(hop.offsets, {static_cast<std::int64_t>(queries) + 1}, ledger);
  if (!made) return std::move(made).error();
  const std::span<std::int64_t> offsets = made.value();
  offsets[0] = 0;
  for (std::size_t q = 0; q < queries; ++q) offsets[q + 1] = offsets[q] + rows.counts[q];
  TemporalRows packed{.counts = rows.counts, .neighbours = {}};
  if (auto columns = make_columns(hop, {offsets[queries]}, ledger, packed); !columns)
    return std::move(columns).error();
  arena.for_ranges(queries, TemporalSampler::kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t q = begin; q < end; ++q) {
      const auto count = static_cast<std::size_t>(rows.counts[q]);
      const auto to = static_cast<std::size_t>(offsets[q]);
      std::copy_n(rows.neighbours.data() + q * width, count, packed.neighbours.data() + to);
      std::copy_n(rows.edge_ids.data() + q * width, count, packed.edge_ids.data() + to);
      std::copy_n(rows.times.data() + q * width, count, packed.times.data() + to);
      std::copy_n(rows.deltas.data() + q * width, count, packed.deltas.data() + to);
    }
  });
  hop.counts = std::move(padded.counts);
  return hop;
}

}  // namespace

std::string_view to_string(TemporalVisibility visibility) {
  switch (visibility) {
    case TemporalVisibility::kStrict:
      return "strict";
    case TemporalVisibility::kEventOrder:
      return "event_order";
    case TemporalVisibility::kBatchLag:
      return "batch_lag";
    case TemporalVisibility::kInclusive:
      return "inclusive";
  }
  return "";
}

void TemporalSamplerOptions::describe(Schema& schema) {
  schema.choice<TemporalStrategy>(
      "strategy",
      strategy,
      {{"recent", TemporalStrategy::kRecent, "the last events before the query"},
       {"uniform", TemporalStrategy::kUniform, "any events before it, without replacement"}});
  schema.field("count", count)
      .help("events a node, one number a hop, the first next to the seeds")
      .range(1, static_cast<double>(kMaxCount));
  schema.field("window", window)
      .help("only events at most so long before the query; 0: of any age")
      .unit("ticks of the edges' times")
      .at_least(0);
  schema.choice<TemporalVisibility>(
      "visibility",
      visibility,
      {{"strict", TemporalVisibility::kStrict, "events of earlier times"},
       {"event_order",
        TemporalVisibility::kEventOrder,
        "events of earlier times, and of the same time with smaller edge ids"},
       {"batch_lag", TemporalVisibility::kBatchLag, "events of earlier mini-batches"},
       {"inclusive",
        TemporalVisibility::kInclusive,
        "events of earlier times and of the same time, as databases join; not for predicting "
        "events"}});
}

TemporalSampler::TemporalSampler(TemporalGraph graph,
                                 Options options,
                                 RandomKey key,
                                 std::uint64_t relation,
                                 MemoryLedger* ledger)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      key_(key.with("temporal neighbours")),
      relation_(relation),
      ledger_(ledger) {
  check_options(options_, graph_.view());
}

Result<void> TemporalSampler::check(std::size_t hop,
                                    const TemporalRequest& request,
                                    const TemporalRows& out) const {
  if (hop >= num_hops()) return wrong_sizes("as the number of a hop", hop, num_hops() - 1);
  const TemporalQueries& queries = request.queries;
  const std::size_t size = queries.size();
  const std::size_t cells = size * static_cast<std::size_t>(options_.count[hop]);
  if (queries.times.size() != size) return wrong_sizes("query times", queries.times.size(), size);
  if (options_.visibility == TemporalVisibility::kEventOrder && queries.event_ids.size() != size)
    return wrong_sizes("event ids of queries", queries.event_ids.size(), size);
  if (out.counts.size() != size) return wrong_sizes("counts", out.counts.size(), size);
  if (out.neighbours.size() != cells)
    return wrong_sizes("neighbours", out.neighbours.size(), cells);
  for (const std::size_t optional : {out.edge_ids.size(), out.times.size(), out.deltas.size()}) {
    if (optional != 0 && optional != cells)
      return wrong_sizes("edge ids, times or deltas", optional, cells);
  }
  if (options_.visibility != TemporalVisibility::kBatchLag || hop != 0) return {};
  if (!request.cut) {
    return Error(ErrorCode::kUsage,
                 "visibility = \"batch_lag\" needs the cut of the batch",
                 "give the time and edge id of its first event");
  }
  if (request.cut->event != 0 && !graph_.view().has_edge_ids() && graph_.view().num_edges() != 0) {
    return Error(ErrorCode::kUsage,
                 "a cut by an event needs edge ids, and the relation stores none",
                 "import it with edge_ids = true, or cut by time alone (event 0)");
  }
  return {};
}

Result<void> TemporalSampler::fill_range(std::size_t hop,
                                         const TemporalRequest& request,
                                         const TemporalRows& out,
                                         std::size_t begin,
                                         std::size_t end) const {
  TemporalHopRule rule{.strategy = options_.strategy,
                       .count = static_cast<std::size_t>(options_.count[hop]),
                       .window = options_.window,
                       .by_event = options_.visibility == TemporalVisibility::kEventOrder,
                       .inclusive = options_.visibility == TemporalVisibility::kInclusive,
                       .cut = {},
                       .key = key_.with(request.epoch).with(hop).with(relation_)};
  if (options_.visibility == TemporalVisibility::kBatchLag && hop == 0) rule.cut = request.cut;
  PositionChooser chooser;
  if (rule.strategy == TemporalStrategy::kUniform) {
    if (auto room = chooser.reserve(rule.count, ledger_); !room) return room;
  }
  fill_temporal_rows(graph_.view(), rule, request.queries, out, begin, end, chooser);
  return {};
}

Result<void> TemporalSampler::fill(std::size_t hop,
                                   const TemporalRequest& request,
                                   const TemporalRows& out) const {
  if (auto checked = check(hop, request, out); !checked) return checked;
  return fill_range(hop, request, out, 0, request.queries.size());
}

Result<void> TemporalSampler::fill(std::size_t hop,
                                   const TemporalRequest& request,
                                   const TemporalRows& out,
                                   ThreadArena& arena) const {
  if (auto checked = check(hop, request, out); !checked) return checked;
  Mutex mutex;
  Result<void> all;  // of several errors, any: they say the same
  arena.for_ranges(request.queries.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    auto filled = fill_range(hop, request, out, begin, end);
    if (filled) return;
    const MutexLock lock(mutex);
    all = std::move(filled);
  });
  return all;
}

Result<TemporalSample> TemporalSampler::sample(const TemporalRequest& request,
                                               TemporalForm form,
                                               ThreadArena& arena) const {
  TemporalSample sample{.form = form, .visibility = options_.visibility, .hops = {}};
  TemporalRequest next = request;
  for (std::size_t h = 0; h < num_hops(); ++h) {
    TemporalHop hop;
    const std::size_t size = next.queries.size();
    auto made = make_rows(hop, size, options_.count[h], ledger_);
    if (!made) return std::move(made).error();
    const TemporalRows rows = made.value();
    if (auto filled = fill(h, next, rows, arena); !filled) return std::move(filled).error();
    if (form == TemporalForm::kPacked) {
      const auto width = static_cast<std::size_t>(options_.count[h]);
      auto packed = pack(hop, rows, width, arena, ledger_);
      if (!packed) return std::move(packed).error();
      hop = std::move(packed).value();
    }
    next.queries = {std::as_const(hop.neighbours).as<std::uint64_t>(),
                    std::as_const(hop.times).as<std::int64_t>(),
                    std::as_const(hop.edge_ids).as<std::uint64_t>()};
    sample.hops.push_back(std::move(hop));
  }
  return sample;
}

}  // namespace sluice
