// Events on disk: every row is the one from RAM, bit for bit, whatever is asked; lists end and ties
// lie at all places of pages; a search reads one page.
#include "samplers/paged_events.h"

#include "storage/format/dataset_writer.h"
#include "support/graph_dataset.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"
#include "temporal_support.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

using test::Events;
using test::QueryList;

constexpr const char* kPagedKey = "s__r__s";
constexpr std::uint64_t kPage = PagedTimes::kPerPage;

enum class StoredIds { kYes, kNo };

// A dataset of one relation, and both bodies over it.
struct PagedFixture {
  // `cache_bytes`: of pages of either half.
  PagedFixture(const Events& events,
               std::uint64_t nodes,
               StoredIds ids = StoredIds::kYes,
               std::uint64_t cache_bytes = 0) {
    const TemporalGraph graph = test::make_temporal(
        events,
        nodes,
        {.ids = ids == StoredIds::kYes ? test::Widths::Ids::k64 : test::Widths::Ids::kPosition});
    const TemporalView& view = graph.view();
    test::CscArrays csc;
    csc.offsets.assign(view.offsets.begin(), view.offsets.end());
    for (std::uint64_t at = 0; at < view.num_edges(); ++at) {
      csc.neighbours.push_back(view.neighbour(at));
      if (ids == StoredIds::kYes) csc.edge_ids.push_back(view.edge_id(at));
    }
    {
      DatasetWriter writer(dir / "x", Overwrite::kRefuse, nullptr);
      writer.schema().nodes.push_back({.name = "s", .count = nodes});
      test::add_csc(writer, {.source = "s", .name = "r", .target = "s", .has_times = true}, csc);
      writer.write(relation_path(writer.schema().relations[0], "times.bin"), view.times);
      writer.commit("test");
    }
    dataset = std::make_unique<Dataset>(Dataset::open((dir / "x").string(), {.ledger = &ledger}));
    resident =
        std::make_shared<ResidentEvents>(TemporalGraph::load(*dataset, kPagedKey).or_throw());
    const TopologyOptions options{
        .placement = Placement::kDisk, .staging_bytes = 64 * 1024, .cache_bytes = cache_bytes};
    topology = dataset->topology(kPagedKey, options);
    paged = PagedEvents::open(*dataset, kPagedKey, topology, options).or_throw();
  }

  test::TempDir dir;
  MemoryLedger ledger;
  std::unique_ptr<Dataset> dataset;
  std::shared_ptr<const ResidentEvents> resident;
  std::shared_ptr<Topology> topology;
  std::shared_ptr<const PagedEvents> paged;
};

bool same_rows(const PagedFixture& fixture,
               const TemporalSamplerOptions& options,
               const TemporalRequest& request,
               std::uint64_t seed) {
  ThreadArena arena(3);
  const TemporalSampler from_memory(fixture.resident, options, RandomKey(seed), 2);
  const TemporalSampler from_disk(fixture.paged, options, RandomKey(seed), 2);
  for (const TemporalForm form : {TemporalForm::kPadded, TemporalForm::kPacked}) {
    if (test::bytes_of(from_memory.sample(request, form, arena).or_throw()) !=
        test::bytes_of(from_disk.sample(request, form, arena).or_throw()))
      return false;
  }
  return true;
}

bool same_counts(const PagedFixture& fixture, const QueryList& queries, std::uint64_t nodes) {
  std::vector<std::uint64_t> known;
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < queries.nodes.size(); ++i) {
    if (queries.nodes[i] >= nodes) continue;
    known.push_back(queries.nodes[i]);
    times.push_back(queries.times[i]);
  }
  for (const TimeTies ties : {TimeTies::kNone, TimeTies::kAll}) {
    std::vector<std::int64_t> one(known.size(), 7), other(known.size(), 7);
    fixture.resident->count(known, times, ties, one).or_throw();
    fixture.paged->count(known, times, ties, other).or_throw();
    if (one != other) return false;
  }
  return true;
}

constexpr std::array kVisibilities{TemporalVisibility::kStrict,
                                   TemporalVisibility::kEventOrder,
                                   TemporalVisibility::kBatchLag,
                                   TemporalVisibility::kInclusive};

// Lists of lengths around a page, hubs of several, runs of one time longer than a page.
Events events_across_pages(RandomKey key, std::uint64_t& nodes) {
  const std::vector<std::uint64_t> lengths{
      kPage - 1, 1, 0, kPage, kPage + 1, 3, 5 * kPage + 17, 2 * kPage, 40, 0};
  nodes = lengths.size();
  Events events;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    const RandomKey own = key.with(node);
    std::int64_t time = -20;
    for (std::uint64_t i = 0; i < lengths[node]; ++i) {
      // Rarely a new time, so that ties cross borders; at times a far one.
      const std::uint64_t turn = own.below(400, 2 * i);
      if (turn == 0) time += 1;
      if (turn == 1) time += 1000;
      events.push_back({own.below(nodes, 2 * i + 1), node, time, 0});
    }
  }
  // Ids in no order of the lists: those of equal times stand in the order of their ids.
  for (std::uint64_t i = 0; i < events.size(); ++i) events[i].id = (i * 7919) % events.size();
  return events;
}

TEST_CASE("random multigraphs on disk: every row is the one from RAM") {
  const std::uint64_t graphs = test::sanitized<std::uint64_t>(60, 12);
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    CAPTURE(seed);
    const test::RandomTemporal graph = test::random_temporal(seed);
    const PagedFixture fixture(graph.events, graph.num_nodes, StoredIds::kYes, seed % 3 << 14);
    const RandomKey key = RandomKey(seed).with("paged queries");
    const QueryList queries = test::random_queries(graph, 1 + key.below(70, 0), key.with("nodes"));
    for (const TemporalVisibility visibility : kVisibilities) {
      for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
        const TemporalSamplerOptions options{
            .strategy = strategy,
            .count = {static_cast<std::int64_t>(1 + key.below(12, 1)), 3},
            .window = seed % 2 == 0 ? 0 : 1 + static_cast<std::int64_t>(key.below(300, 2)),
            .visibility = visibility};
        TemporalRequest request{.epoch = seed, .queries = queries.view()};
        if (visibility == TemporalVisibility::kBatchLag)
          request.cut = {queries.times[0], queries.event_ids[0]};
        CAPTURE(std::string(to_string(visibility)));
        CHECK(same_rows(fixture, options, request, seed));
        if (!graph.events.empty()) {
          const test::Oracle oracle(graph.events, options, RandomKey(seed), 2);
          ThreadArena arena(1);
          const TemporalSampler sampler(fixture.paged, options, RandomKey(seed), 2);
          const TemporalSample sample =
              sampler.sample(request, TemporalForm::kPadded, arena).or_throw();
          const Events expected = oracle.row(
              queries.nodes[0], queries.times[0], queries.event_ids[0], 0, seed, request.cut);
          const Events row = test::row_of(sample.hops[0], 0);
          CHECK(test::ids_of(row) == test::ids_of(expected));
        }
      }
    }
    CHECK(same_counts(fixture, queries, graph.num_nodes));
  }
}

TEST_CASE("lists and ties across the borders of pages: every row is the one from RAM") {
  for (const std::uint64_t cache_bytes : {std::uint64_t{0}, std::uint64_t{64 * 1024}}) {
    std::uint64_t nodes = 0;
    const RandomKey key = RandomKey(9).with("across pages");
    const Events events = events_across_pages(key, nodes);
    const PagedFixture fixture(events, nodes, StoredIds::kYes, cache_bytes);
    QueryList queries;
    for (std::uint64_t i = 0; i < test::sanitized<std::uint64_t>(900, 150); ++i) {
      const TemporalEvent& of = events[key.below(events.size(), 2 * i)];
      const auto shift = static_cast<std::int64_t>(key.below(3, 2 * i + 1)) - 1;
      queries.add(of.target, of.time + shift, of.id);
    }
    for (std::uint64_t node = 0; node <= nodes; ++node) {
      queries.add(node, test::kLeastTime, 1);
      queries.add(node, test::kLastTime, 1);
    }
    for (const TemporalVisibility visibility : kVisibilities) {
      for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
        for (const std::int64_t window : {0, 1, 1500}) {
          CAPTURE(std::string(to_string(visibility)));
          CAPTURE(window);
          const TemporalSamplerOptions options{
              .strategy = strategy, .count = {7}, .window = window, .visibility = visibility};
          TemporalRequest request{.epoch = 1, .queries = queries.view()};
          if (visibility == TemporalVisibility::kBatchLag)
            request.cut = {events[3 * kPage].time, events[3 * kPage].id};
          CHECK(same_rows(fixture, options, request, 4));
        }
      }
    }
    // Rows longer than pages.
    const TemporalSamplerOptions whole{.count = {static_cast<std::int64_t>(6 * kPage)}};
    QueryList few;
    for (std::uint64_t node = 0; node < nodes; ++node) few.add(node, test::kLastTime);
    CHECK(same_rows(fixture, whole, {.queries = few.view()}, 4));
    CHECK(same_counts(fixture, queries, nodes));
  }
}

TEST_CASE("without stored ids, positions decide on disk too") {
  std::uint64_t nodes = 0;
  const Events events = events_across_pages(RandomKey(3).with("positions"), nodes);
  const PagedFixture fixture(events, nodes, StoredIds::kNo);
  CHECK(!fixture.paged->has_edge_ids());
  QueryList queries;
  for (std::size_t i = 0; i < events.size(); i += 29) queries.add(events[i].target, events[i].time);
  for (const auto visibility : {TemporalVisibility::kStrict, TemporalVisibility::kInclusive}) {
    for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
      const TemporalSamplerOptions options{
          .strategy = strategy, .count = {9, 2}, .visibility = visibility};
      CHECK(same_rows(fixture, options, {.queries = queries.view()}, 8));
    }
  }
}

TEST_CASE("a search reads one page of times") {
  Events events;
  constexpr std::uint64_t kHub = 100 * kPage;
  for (std::uint64_t i = 0; i < kHub; ++i)
    events.push_back({1, 0, static_cast<std::int64_t>(2 * i), i});
  const PagedFixture fixture(events, 2);
  const TemporalSampler sampler(fixture.paged, {.count = {5}}, RandomKey(1));
  std::vector<std::int32_t> counts(1);
  std::vector<std::uint64_t> neighbours(5);
  const TemporalRows out{.counts = counts, .neighbours = neighbours};
  for (const std::int64_t time : {std::int64_t{1}, std::int64_t{33'333}, std::int64_t{2 * kHub}}) {
    QueryList queries;
    queries.add(0, time);
    const std::uint64_t before = fixture.paged->bytes_read();
    sampler.fill(0, {.queries = queries.view()}, out).or_throw();
    CHECK(fixture.paged->bytes_read() - before == kPageBytes);
    CHECK(counts[0] == std::min<std::int64_t>(5, (time + 1) / 2));
  }
}

TEST_CASE("events on disk are refused where lists are in no order, and without times") {
  Events events;
  for (std::uint64_t i = 0; i < 1000; ++i)
    events.push_back({0, i % 2, static_cast<std::int64_t>(i), i});
  const test::TempDir dir;
  const TemporalGraph graph = test::make_temporal(events, 2);
  const TemporalView& view = graph.view();
  test::CscArrays csc;
  csc.offsets.assign(view.offsets.begin(), view.offsets.end());
  for (std::uint64_t at = 0; at < view.num_edges(); ++at) {
    csc.neighbours.push_back(view.neighbour(at));
    csc.edge_ids.push_back(view.edge_id(at));
  }
  std::vector<std::int64_t> times(view.times.begin(), view.times.end());
  std::swap(times[700], times[701]);
  for (const bool timed : {true, false}) {
    const std::string name = timed ? "turned" : "plain";
    {
      DatasetWriter writer(dir / name, Overwrite::kRefuse, nullptr);
      writer.schema().nodes.push_back({.name = "s", .count = 2});
      test::add_csc(writer, {.source = "s", .name = "r", .target = "s", .has_times = timed}, csc);
      if (timed)
        writer.write(relation_path(writer.schema().relations[0], "times.bin"),
                     std::span<const std::int64_t>(times));
      writer.commit("test");
    }
    const Dataset dataset = Dataset::open((dir / name).string());
    const TopologyOptions options{.placement = Placement::kDisk};
    const auto opened =
        PagedEvents::open(dataset, kPagedKey, dataset.topology(kPagedKey, options), options);
    REQUIRE(!opened);
    CHECK(opened.error().code() == (timed ? ErrorCode::kData : ErrorCode::kUsage));
    if (timed)
      CHECK(std::string(opened.error().message()).find("position 701") != std::string::npos);
  }
}

}  // namespace
}  // namespace sluice
