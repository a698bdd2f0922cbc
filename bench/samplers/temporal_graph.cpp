#include "bench/samplers/temporal_graph.h"

#include "prep/generate/rmat.h"
#include "storage/io/file.h"

#include <sluice/samplers/seed_order.h>

#include <algorithm>

namespace sluice::bench {
namespace {

RmatDraw draw_of(std::uint64_t scale) {
  RmatGenerator::Options options;
  options.scale = static_cast<std::int64_t>(scale);
  return RmatDraw(options);
}

std::vector<std::uint32_t> draw_ends(std::uint64_t scale, bool sources, ThreadArena& arena) {
  const RmatDraw draw = draw_of(scale);
  std::vector<std::uint32_t> ends(draw.edges());
  arena.for_ranges(ends.size(), 1 << 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto [source, target] = draw(i);
      ends[i] = static_cast<std::uint32_t>(sources ? source : target);
    }
  });
  return ends;
}

template <class T>
std::span<T> make(Array& array, std::size_t count) {
  array = Array::make(dtype_of<T>, {static_cast<std::int64_t>(count)}).or_throw();
  return array.as<T>();
}

void write_ids(const std::filesystem::path& path, const std::vector<std::uint32_t>& ids) {
  File file = File::create(path).or_throw();
  file.write_at(0, std::as_bytes(std::span(ids))).or_throw();
  file.close().or_throw();
}

}  // namespace

TemporalBenchGraph::TemporalBenchGraph(std::uint64_t scale, ThreadArena& arena)
    : num_nodes_(std::uint64_t{1} << scale),
      sources_(draw_ends(scale, true, arena)),
      targets_(draw_ends(scale, false, arena)),
      graph_(make_graph()) {}

// Events come in time order, so a stable counting scatter leaves each list in order.
TemporalGraph TemporalBenchGraph::make_graph() const {
  TemporalArrays arrays;
  const auto offsets = make<std::uint64_t>(arrays.offsets, num_nodes_ + 1);
  const auto neighbours = make<std::uint32_t>(arrays.neighbours, num_events());
  const auto ids = make<std::uint32_t>(arrays.edge_ids, num_events());
  const auto times = make<std::int64_t>(arrays.times, num_events());
  std::fill(offsets.begin(), offsets.end(), 0);
  for (const std::uint32_t target : targets_) ++offsets[target + 1];
  for (std::size_t n = 0; n < num_nodes_; ++n) offsets[n + 1] += offsets[n];
  std::vector<std::uint64_t> next(offsets.begin(), offsets.end() - 1);
  for (std::uint64_t event = 0; event < num_events(); ++event) {
    const std::uint64_t at = next[targets_[event]]++;
    neighbours[at] = sources_[event];
    ids[at] = static_cast<std::uint32_t>(event);
    times[at] = time_of(event);
  }
  return TemporalGraph::own(std::move(arrays)).or_throw().as_records(nullptr).or_throw();
}

std::uint32_t TemporalBenchGraph::negative_of(std::uint64_t event) const {
  return static_cast<std::uint32_t>(RandomKey(1).with("negatives").below(num_nodes_, event));
}

void TemporalBenchGraph::write(const std::filesystem::path& folder) const {
  std::vector<std::uint32_t> negatives(num_events());
  for (std::uint64_t event = 0; event < num_events(); ++event)
    negatives[event] = negative_of(event);
  write_ids(folder / "source.u32", sources_);
  write_ids(folder / "target.u32", targets_);
  write_ids(folder / "negative.u32", negatives);
}

TemporalBenchQueries::TemporalBenchQueries(const TemporalBenchGraph& graph,
                                           EventOrder order,
                                           std::uint64_t most) {
  const std::uint64_t first = graph.num_events() / 2;
  const Permutation shuffled(graph.num_events() - first, RandomKey(1).with("order"));
  const std::uint64_t batches = std::min(most, (graph.num_events() - first) / kEvents);
  nodes_.resize(batches * kRoots);
  times_.resize(batches * kRoots);
  for (std::uint64_t i = 0; i < batches * kEvents; ++i) {
    const std::uint64_t event = first + (order == EventOrder::kTime ? i : shuffled.at(i));
    const std::uint64_t at = i / kEvents * kRoots + i % kEvents;
    nodes_[at] = graph.source_of(event);
    nodes_[at + kEvents] = graph.target_of(event);
    nodes_[at + 2 * kEvents] = graph.negative_of(event);
    for (std::uint64_t role = 0; role < 3; ++role)
      times_[at + role * kEvents] = TemporalBenchGraph::time_of(event);
  }
}

TemporalQueries TemporalBenchQueries::batch(std::uint64_t index) const {
  return {std::span(nodes_).subspan(index * kRoots, kRoots),
          std::span(times_).subspan(index * kRoots, kRoots)};
}

}  // namespace sluice::bench
