// Temporal graphs: from a dataset, from arrays, refused, and grown; options and sizes refused.
#include "temporal_support.h"

#include "core/log.h"
#include "prep/generate/temporal.h"
#include "samplers/temporal_neighbor_sampler.h"
#include "storage/format/dataset_writer.h"
#include "support/expect_error.h"
#include "support/graph_dataset.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::Events;
using test::expect_error;
using test::ids_of;
using test::QueryList;
using Ids = std::vector<std::uint64_t>;

const Events kEvents{{1, 0, 4, 3}, {2, 0, 4, 5}, {1, 1, 2, 1}, {0, 2, 9, 6}, {2, 0, 7, 6}};

// Writes `events` as a relation "s__r__t" (or "s__r__s") with times.
void write_temporal(const std::filesystem::path& path,
                    const Events& events,
                    std::uint64_t nodes,
                    bool one_type,
                    bool edge_ids,
                    std::uint64_t edge_id_bound = 1 << 20) {
  const TemporalGraph graph = test::make_temporal(events, nodes, {.ids = test::Widths::Ids::k64});
  const TemporalView& view = graph.view();
  test::CscArrays csc;
  csc.offsets.assign(view.offsets.begin(), view.offsets.end());
  for (std::uint64_t e = 0; e < view.num_edges(); ++e) {
    csc.neighbours.push_back(view.neighbour(e));
    if (edge_ids) csc.edge_ids.push_back(view.edge_id(e));
  }
  DatasetWriter writer(path, Overwrite::kRefuse, nullptr);
  writer.schema().nodes.push_back({.name = "s", .count = nodes});
  if (!one_type) writer.schema().nodes.push_back({.name = "t", .count = nodes});
  const RelationSchema relation{
      .source = "s", .name = "r", .target = one_type ? "s" : "t", .has_times = true};
  test::add_csc(writer, relation, csc, edge_id_bound);
  writer.write(relation_path(relation, "times.bin"), view.times);
  writer.commit("test");
}

TEST_CASE("a dataset's relation answers as the arrays it was made of") {
  const test::TempDir dir;
  const TemporalGraph expected = test::make_temporal(kEvents, 3);
  for (const bool wide : {false, true}) {
    const std::string name = wide ? "wide" : "narrow";
    write_temporal(dir / name, kEvents, 3, true, true, wide ? std::uint64_t{1} << 40 : 1 << 20);
    MemoryLedger ledger;
    const Dataset dataset = Dataset::open((dir / name).string(), {.ledger = &ledger});
    const TemporalGraph graph = TemporalGraph::load(dataset, "s__r__s").or_throw();
    CHECK(ledger.used() > 0);
    CHECK(graph.view().edge_ids64.empty() != wide);
    REQUIRE(graph.view().num_edges() == 5);
    for (std::uint64_t e = 0; e < 5; ++e) {
      CHECK(graph.view().neighbour(e) == expected.view().neighbour(e));
      CHECK(graph.view().edge_id(e) == expected.view().edge_id(e));
      CHECK(graph.view().times[e] == expected.view().times[e]);
    }
    const std::uint64_t before = ledger.used();
    const TemporalGraph records = graph.as_records(&ledger).or_throw();
    CHECK(ledger.used() >= before + (wide ? 120 : 80));
    CHECK(records.view().records64.empty() != wide);
    const TemporalSampler sampler(records, {.count = {5, 5}}, RandomKey(1), 0, &ledger);
    CHECK(ids_of(test::ask(sampler, 0, 8)) == Ids{3, 5, 6});
  }
}

TEST_CASE("a generated dataset loads in order") {
  const test::TempDir dir;
  DatasetWriter writer(dir / "g", Overwrite::kRefuse, nullptr);
  ThreadArena arena(2);
  MemoryLedger ledger;
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log};
  TemporalGenerator::Options options;
  options.nodes = 200;
  options.events = 5000;
  options.seconds = 1000;  // ties
  options.node_options.features = 4;
  TemporalGenerator(options).generate(writer, context);
  const std::string key = writer.schema().relations.at(0).key();
  writer.commit("test");
  const Dataset dataset = Dataset::open((dir / "g").string());
  const TemporalGraph graph = TemporalGraph::load(dataset, key).or_throw();
  CHECK(graph.view().num_edges() >= 5000);
  CHECK(graph.view().one_type);
}

TEST_CASE("relations that temporal samplers cannot take are refused by name") {
  const test::TempDir dir;
  test::write_csc(dir / "plain", 3, {{0, 1}, {2}, {}});
  const Dataset plain = Dataset::open((dir / "plain").string());
  CHECK(TemporalGraph::load(plain, "s__r__t").error().message().find("times") != std::string::npos);
  CHECK(!TemporalGraph::load(plain, "s__q__t").ok());

  write_temporal(dir / "two", kEvents, 3, false, false);
  const Dataset two = Dataset::open((dir / "two").string());
  const TemporalGraph graph = TemporalGraph::load(two, "s__r__t").or_throw();
  CHECK(!graph.view().one_type);
  CHECK(expect_error([&] {
          TemporalSampler(graph, {.count = {2, 2}}, RandomKey(1));
        })
            .message()
            .find("another type") != std::string::npos);
  const Error order = expect_error([&] {
    TemporalSampler(graph, {.visibility = TemporalVisibility::kEventOrder}, RandomKey(1));
  });
  CHECK(order.message().find("needs edge ids") != std::string::npos);
  CHECK(order.code() == ErrorCode::kUsage);
  CHECK(append_events(graph, kEvents, 3, nullptr).error().message().find("without edge ids") !=
        std::string::npos);
}

TEST_CASE("a budget too small is an error, and the charge is given back") {
  const test::TempDir dir;
  write_temporal(dir / "g", kEvents, 3, true, true);
  MemoryLedger ledger(100);
  const Dataset dataset = Dataset::open((dir / "g").string(), {.ledger = &ledger});
  CHECK(TemporalGraph::load(dataset, "s__r__s").error().code() == ErrorCode::kResource);

  MemoryLedger small(20000);
  const TemporalGraph graph = test::make_temporal(kEvents, 3);
  const TemporalSampler sampler(graph, {.count = {100}}, RandomKey(1), 0, &small);
  QueryList queries;
  for (int i = 0; i < 100; ++i) queries.add(0, 9);
  ThreadArena arena(1);
  const auto sample = sampler.sample({.queries = queries.view()}, TemporalForm::kPadded, arena);
  CHECK(sample.error().code() == ErrorCode::kResource);
  CHECK(small.used() == 0);
}

TEST_CASE("arrays out of order, or of sizes that do not agree, are named") {
  const auto error_of = [](TemporalArrays arrays) {
    return TemporalGraph::own(std::move(arrays)).error().message();
  };
  TemporalArrays arrays = test::make_temporal_arrays(kEvents, 3);
  std::swap(arrays.times.as<std::int64_t>()[1], arrays.times.as<std::int64_t>()[2]);
  CHECK(error_of(arrays).find("position 2 of node 0") != std::string::npos);
  arrays = test::make_temporal_arrays(kEvents, 3);
  std::swap(arrays.edge_ids.as<std::uint32_t>()[0], arrays.edge_ids.as<std::uint32_t>()[1]);
  CHECK(error_of(arrays).find("position 1 of node 0") != std::string::npos);
  arrays = test::make_temporal_arrays(kEvents, 3);
  arrays.offsets.as<std::uint64_t>()[1] = 6;
  CHECK(error_of(arrays).find("offsets do not ascend") != std::string::npos);
  arrays = test::make_temporal_arrays(kEvents, 3);
  arrays.times = test::make_array<std::int64_t>({1, 2});
  CHECK(error_of(arrays).find("5 neighbours and 5 edge ids for 2 times") != std::string::npos);
}

TEST_CASE("appended events of unknown nodes are refused; wider ids widen the arrays") {
  const TemporalGraph graph = test::make_temporal(kEvents, 3);
  const Events beyond{{0, 3, 10, 9}};
  CHECK(append_events(graph, beyond, 3, nullptr).error().message().find("node 3 of 3") !=
        std::string::npos);
  CHECK(!append_events(graph, {}, 2, nullptr).ok());
  const Events wide{{std::uint64_t{1} << 33, 3, 10, std::uint64_t{1} << 34}};
  const TemporalGraph grown = append_events(graph, wide, 4, nullptr).or_throw();
  const TemporalSampler sampler(grown, {}, RandomKey(1));
  CHECK(test::ask(sampler, 3, 11).at(0).source == std::uint64_t{1} << 33);
  CHECK(ids_of(test::ask(sampler, 3, 11)) == Ids{std::uint64_t{1} << 34});
  CHECK(ids_of(test::ask(sampler, 0, 8)) == Ids{3, 5, 6});
}

TEST_CASE("options out of range, and spans that do not agree, are refused with what is needed") {
  const TemporalGraph graph = test::make_temporal(kEvents, 3);
  CHECK(expect_error([&] { TemporalSampler(graph, {.count = {0}}, RandomKey(1)); })
            .message()
            .find("count holds 0") != std::string::npos);
  CHECK(expect_error([&] { TemporalSampler(graph, {.window = -1}, RandomKey(1)); })
            .message()
            .find("window is -1") != std::string::npos);

  const TemporalSampler sampler(
      graph, {.count = {2}, .visibility = TemporalVisibility::kBatchLag}, RandomKey(1));
  QueryList queries;
  queries.add(0, 5);
  std::vector<std::int32_t> counts(1);
  std::vector<std::uint64_t> neighbours(2);
  const auto message = [&](std::size_t hop, const TemporalRequest& request, TemporalRows rows) {
    return sampler.fill(hop, request, rows).error().message();
  };
  const TemporalRows rows{.counts = counts, .neighbours = neighbours};
  CHECK(message(0, {.queries = queries.view()}, rows).find("needs the cut") != std::string::npos);
  CHECK(message(1, {.queries = queries.view()}, rows).find("hop") != std::string::npos);
  const std::vector<std::uint64_t> two{0, 1};
  CHECK(message(0, {.queries = {two, queries.times}}, rows) ==
        "temporal sampling: 1 query times where there must be 2");
  CHECK(message(0, {.queries = queries.view()}, {.counts = counts, .neighbours = {}}) ==
        "temporal sampling: 0 neighbours where there must be 2");
  CHECK(sampler.fill(0, {.queries = queries.view(), .cut = TemporalCut{4, 4}}, rows).ok());
  CHECK(neighbours == Ids{1, kNoNode});
}

TEST_CASE("options bind by name and dump back") {
  TemporalSamplerOptions options;
  Config::parse(
      "strategy = \"uniform\"\ncount = [10, 5]\nwindow = 3600\nvisibility = \"batch_lag\"\n", "t")
      .bind_to(options);
  CHECK(options.strategy == TemporalStrategy::kUniform);
  CHECK(options.count == std::vector<std::int64_t>{10, 5});
  CHECK(options.window == 3600);
  CHECK(to_string(options.visibility) == "batch_lag");
  CHECK(SamplerKind<TemporalNeighborSampler>(options).visibility() == "batch_lag");
  CHECK(expect_error([&] { Config::parse("count = [0]\n", "t").bind_to(options); }).code() ==
        ErrorCode::kUsage);
}

}  // namespace
}  // namespace sluice
