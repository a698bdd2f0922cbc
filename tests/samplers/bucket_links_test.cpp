// Partition mode without a model: links sorted into edge buckets, the mini-batches of an epoch over
// them, negatives of resident partitions, and rows that are loaded and released beside: set beside
// a plain list of links and a table in memory that takes the same steps.
#include "samplers/bucket_links.h"
#include "sampler_support.h"
#include "storage/embedding/sparse_optimizers.h"
#include "storage/embedding/table_rows.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <sluice/samplers/link_queries.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace sluice {
namespace {

using test::expect_error;
using test::Held;
using test::TempDir;
using test::TestGraph;
using BucketTriple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

std::uint64_t bucket_seed() {
  return std::random_device{}();
}

LinkArrays random_links(std::uint64_t count,
                        std::uint64_t sources,
                        std::uint64_t targets,
                        RandomKey key) {
  const auto made = [&] {
    return Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, nullptr, "test").or_throw();
  };
  LinkArrays links;
  links.sources = made();
  links.targets = made();
  links.ids = made();
  for (std::uint64_t i = 0; i < count; ++i) {
    // Squared: some partitions have many, some few.
    const double far = key.uniform(2 * i);
    links.sources.as<std::uint64_t>()[i] =
        static_cast<std::uint64_t>(far * far * static_cast<double>(sources));
    links.targets.as<std::uint64_t>()[i] = key.below(targets, 2 * i + 1);
    links.ids.as<std::uint64_t>()[i] = 7 * i + 3;
  }
  return links;
}

std::multiset<BucketTriple> all_of(const LinkArrays& links) {
  std::multiset<BucketTriple> all;
  for (std::int64_t i = 0; i < links.sources.numel(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    all.insert({links.sources.as<std::uint64_t>()[at],
                links.targets.as<std::uint64_t>()[at],
                links.ids.as<std::uint64_t>()[at]});
  }
  return all;
}

// A run's parts: links in buckets, and the way through them.
struct BucketGround {
  BucketGround(const LinkArrays& links,
               BucketOrderOptions order,
               SpareSlot spare,
               NodeDivision sources,
               NodeDivision destinations,
               std::uint64_t piece,
               std::uint64_t batch) {
    BucketLinksOptions sorted;
    sorted.partitions = order.partitions;
    sorted.sources = sources;
    sorted.destinations = destinations;
    sorted.folder = folder.path();
    sorted.piece_links = piece;
    buckets = std::make_shared<BucketLinks>(ListedLinks(links), sorted);
    BucketTourOptions way;
    way.order = order;
    way.spare = spare;
    way.key = RandomKey(9);
    way.links = buckets->counts();
    way.sources = sources;
    way.destinations = destinations;
    way.batch_size = batch;
    way.piece_links = piece;
    tour = std::make_shared<BucketTour>(way);
  }

  LinkQueries queries(const GraphSchema& schema, SharedNegatives shared) const {
    LinkQueryOptions options;
    options.order = tour;
    options.key = RandomKey(11);
    options.shared = shared;
    return {schema, buckets, options};
  }

  TempDir folder;
  std::shared_ptr<BucketLinks> buckets;
  std::shared_ptr<BucketTour> tour;
};

std::vector<std::uint64_t> asked_nodes(const QueryBatch& batch,
                                       const Array& rows,
                                       std::size_t type) {
  std::vector<std::uint64_t> nodes;
  for (const std::int64_t row : rows.as<std::int64_t>())
    nodes.push_back(batch.seeds[type].as<std::uint64_t>()[static_cast<std::size_t>(row)]);
  return nodes;
}

bool is_in(std::uint64_t node,
           const NodeDivision& division,
           const std::vector<std::uint32_t>& resident) {
  return std::ranges::binary_search(resident, static_cast<std::uint32_t>(node / division.each));
}

const std::pair<BucketOrderKind, SpareSlot> kWays[] = {
    {BucketOrderKind::kSequential, SpareSlot::kOne},
    {BucketOrderKind::kBeta, SpareSlot::kOne},
    {BucketOrderKind::kComet, SpareSlot::kOne},
    {BucketOrderKind::kLegend, SpareSlot::kNone}};

}  // namespace

TEST_CASE("edge buckets: every link in one bucket, its own, and asked about once an epoch") {
  const std::uint64_t seed = bucket_seed();
  CAPTURE(seed);
  const std::uint64_t sources = 1000, targets = 700;
  const LinkArrays links = random_links(6000, sources, targets, RandomKey(seed));
  const std::multiset<BucketTriple> expected = all_of(links);
  TestGraph graph = test::make_graph({sources, targets});
  test::add_relation(graph, 0, 1, test::EdgeLists(targets));
  for (const auto& [kind, spare] : kWays) {
    CAPTURE(static_cast<int>(kind));
    const NodeDivision by{sources, 130}, to{targets, 90};  // 8 partitions
    // Buckets of some 100 links, in pieces of 30, in mini-batches of 16.
    const BucketGround ground(links, {kind, 8, 4, 1}, spare, by, to, 30, 16);
    REQUIRE(ground.buckets->size() == 6000);
    const LinkQueries queries = ground.queries(graph.schema, {24, 8, 0.25});
    std::vector<std::vector<BucketTriple>> orders;
    for (const std::uint64_t epoch : {0u, 1u}) {
      std::multiset<BucketTriple> seen;
      std::set<std::pair<std::uint64_t, std::uint64_t>> done;  // buckets that were left
      std::pair<std::uint64_t, std::uint64_t> bucket{~0ull, 0};
      std::uint64_t back = 0, outside = 0;  // buckets that were come back to; nodes elsewhere
      orders.emplace_back();
      for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
        const QueryBatch batch = queries.batch(epoch, index, nullptr).or_throw();
        const BucketStop stop = ground.tour->at(epoch, index);
        const auto from = asked_nodes(batch, batch.queries.sources, 0);
        const auto ends = asked_nodes(batch, batch.queries.destinations, 1);
        REQUIRE(from.size() == stop.links);
        for (std::size_t i = 0; i < from.size(); ++i) {
          const std::pair<std::uint64_t, std::uint64_t> own{from[i] / by.each, ends[i] / to.each};
          if (own != bucket) {
            done.insert(bucket);
            bucket = own;
            back += done.contains(bucket);
          }
          outside += !is_in(from[i], by, stop.resident);
          outside += !is_in(ends[i], to, stop.resident);
          orders.back().push_back({from[i], ends[i], batch.queries.ids.as<std::uint64_t>()[i]});
          seen.insert(orders.back().back());
        }
        for (const std::uint64_t node : asked_nodes(batch, batch.queries.shared, 1))
          outside += !is_in(node, to, stop.resident);
        for (const std::uint64_t node : asked_nodes(batch, batch.queries.shared_sources, 0))
          outside += !is_in(node, by, stop.resident);
      }
      CHECK(back == 0);
      CHECK(outside == 0);
      CHECK(seen == expected);
    }
    CHECK(orders[0] != orders[1]);
  }
}

TEST_CASE("edge buckets: own negatives are of resident partitions, by degree they are refused") {
  const LinkArrays links = random_links(3000, 400, 400, RandomKey(2));
  TestGraph graph = test::make_graph({400});
  test::add_relation(graph, 0, 0, test::random_lists(400, 400, RandomKey(3)));
  const SamplerGraph opened = graph.open(Held::k32);
  const NodeDivision by{400, 50};
  const BucketGround ground(
      links, {BucketOrderKind::kBeta, 8, 3, 1}, SpareSlot::kOne, by, by, 1000, 50);
  LinkQueryOptions options;
  options.order = ground.tour;
  NegativeSamplerOptions drawn;
  drawn.count = 5;
  drawn.filtered = true;
  options.negatives = std::make_shared<UniformNegatives>(opened, drawn, RandomKey(3), nullptr);
  const LinkQueries queries(graph.schema, ground.buckets, options);
  std::set<std::uint64_t> different;
  std::uint64_t outside = 0;
  for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
    const QueryBatch batch = queries.batch(0, index, nullptr).or_throw();
    const BucketStop stop = ground.tour->at(0, index);
    const auto seeds = batch.seeds[0].as<std::uint64_t>();
    for (const std::int64_t row : batch.queries.negatives.as<std::int64_t>()) {
      if (row < 0) continue;
      const std::uint64_t node = seeds[static_cast<std::size_t>(row)];
      outside += !is_in(node, by, stop.resident);
      different.insert(node);
    }
  }
  CHECK(outside == 0);
  CHECK(different.size() == 400);  // all of them over an epoch
  options.negatives = std::make_shared<DegreeNegatives>(opened, drawn, RandomKey(3), nullptr);
  const auto refused = LinkQueries(graph.schema, ground.buckets, options).batch(0, 0, nullptr);
  REQUIRE(!refused);
  CHECK(refused.error().code() == ErrorCode::kUsage);
}

TEST_CASE("edge buckets: fewer nodes than partitions, no links, all partitions at once") {
  TestGraph graph = test::make_graph({5});
  test::add_relation(graph, 0, 0, test::EdgeLists(5));
  const NodeDivision by{5, 1};
  for (const std::uint32_t slots : {3u, 16u}) {
    const LinkArrays links = random_links(200, 5, 5, RandomKey(4));
    const BucketGround ground(
        links, {BucketOrderKind::kBeta, 16, slots, 1}, SpareSlot::kOne, by, by, 64, 16);
    const LinkQueries queries = ground.queries(graph.schema, {4, 0, 0});
    std::multiset<BucketTriple> seen;
    for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
      const QueryBatch batch = queries.batch(3, index, nullptr).or_throw();
      const auto from = asked_nodes(batch, batch.queries.sources, 0);
      const auto ends = asked_nodes(batch, batch.queries.destinations, 0);
      for (std::size_t i = 0; i < from.size(); ++i)
        seen.insert({from[i], ends[i], batch.queries.ids.as<std::uint64_t>()[i]});
    }
    CHECK(seen == all_of(links));
  }
  const BucketGround none(random_links(0, 5, 5, RandomKey(4)),
                          {BucketOrderKind::kBeta, 16, 4, 1},
                          SpareSlot::kOne,
                          by,
                          by,
                          64,
                          16);
  CHECK(none.tour->num_batches() == 0);
}

TEST_CASE("edge buckets: pieces are read again from disk, the same") {
  const LinkArrays links = random_links(1500, 300, 300, RandomKey(5));
  const NodeDivision by{300, 100};
  const BucketGround ground(
      links, {BucketOrderKind::kBeta, 3, 2, 1}, SpareSlot::kOne, by, by, 60, 10);
  // Any numbers in any order: more pieces than are kept.
  std::mt19937_64 random(6);
  std::vector<std::uint64_t> numbers(1500), sources(1500), targets(1500), ids(1500);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::ranges::shuffle(numbers, random);
  ground.buckets->find(numbers, {sources, targets, ids}).or_throw();
  std::multiset<BucketTriple> seen;
  for (std::size_t i = 0; i < numbers.size(); ++i) seen.insert({sources[i], targets[i], ids[i]});
  CHECK(seen == all_of(links));
  CHECK(ground.buckets->bytes_read() > 2 * ground.buckets->file_bytes());
}

TEST_CASE("edge buckets: what they take of memory and disk is within what is reckoned with") {
  const TempDir folder;
  for (const std::uint64_t count : {10u, 3000u, 40000u}) {
    CAPTURE(count);
    MemoryLedger ledger;
    BucketLinksOptions options;
    options.partitions = 32;
    options.sources = options.destinations = {4096, 128};
    options.folder = folder.path();
    options.ledger = &ledger;
    const BucketLinks links(ListedLinks(random_links(count, 4096, 4096, RandomKey(1))), options);
    // Lists of 1,024 buckets are charged, however few links there are.
    CHECK(ledger.used() >= 2 * sizeof(std::uint64_t) * 1024);
    std::vector<std::uint64_t> numbers(count), sources(count), targets(count), ids(count);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
    links.find(numbers, {sources, targets, ids}).or_throw();
    CHECK(ledger.used() <= BucketLinks::memory_bytes(count, options.partitions));
    CHECK(links.file_bytes() <= BucketLinks::disk_bytes(count, options.partitions));
  }
}

TEST_CASE("edge buckets: links with times are refused, and a budget that is too small") {
  LinkArrays timed = random_links(10, 5, 5, RandomKey(4));
  timed.times = Array::make(DType::kI64, {10}, nullptr, "test").or_throw();
  const NodeDivision by{5, 1};
  const Error of_times = expect_error([&] {
    (void)BucketGround(timed, {BucketOrderKind::kBeta, 4, 2, 1}, SpareSlot::kOne, by, by, 64, 16);
  });
  CHECK(of_times.code() == ErrorCode::kUsage);
  CHECK(of_times.message().find("without times") != std::string::npos);
  const TempDir folder;
  MemoryLedger ledger(6 * kPageBytes * 1024);
  BucketLinksOptions options;
  options.partitions = 64;
  options.sources = options.destinations = {4096, 64};
  options.folder = folder.path();
  options.ledger = &ledger;
  const Error too_small = expect_error([&] {
    (void)BucketLinks(ListedLinks(random_links(40000, 4096, 4096, RandomKey(1))), options);
  });
  CHECK(too_small.code() == ErrorCode::kResource);
  CHECK(too_small.hint().find("embedding.partitions") != std::string::npos);
}

TEST_CASE("edge buckets: the orders of epochs are charged, within what is told before") {
  for (const auto& [kind, spare] : kWays) {
    CAPTURE(static_cast<int>(kind));
    MemoryLedger ledger;
    BucketTourOptions options;
    options.order = {kind, 16, spare == SpareSlot::kNone ? 5u : 4u, 1};
    options.spare = spare;
    options.links.assign(16 * 16, 3 * kPieceLinks);
    options.sources = options.destinations = {16000, 1000};
    options.batch_size = 1000;
    options.ledger = &ledger;
    {
      const BucketTour tour(options);
      std::uint64_t most = 0;
      for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
        (void)tour.at(epoch, 5);
        if (epoch < 3) CHECK(ledger.used() > most);  // as many orders are kept
        most = std::max(most, ledger.used());
      }
      CHECK(most <= BucketTour::memory_bytes(16 * 16 * 3 * kPieceLinks, 16));
    }
    CHECK(ledger.used() == 0);
  }
}

TEST_CASE("partition mode: swaps by the formula, rows as in memory, resumed in the middle") {
  const std::uint64_t seed = bucket_seed();
  CAPTURE(seed);
  constexpr std::uint64_t kNodes = 4000;
  constexpr std::uint32_t kDim = 12, kPartitions = 16;
  const LinkArrays links = random_links(12000, kNodes, kNodes, RandomKey(seed));
  TestGraph graph = test::make_graph({kNodes});
  test::add_relation(graph, 0, 0, test::EdgeLists(kNodes));
  for (const auto& [kind, spare] : kWays) {
    CAPTURE(static_cast<int>(kind));
    const BucketOrderOptions order{kind, kPartitions, spare == SpareSlot::kNone ? 5u : 4u, 1};
    TableRowsOptions options;
    options.rows = kNodes;
    options.dim = kDim;
    options.initial.kind = InitialRows::Kind::kUniform;
    options.initial.seed = 5;
    options.optimizer = std::make_shared<SparseAdagrad>(SparseAdagrad::Options{});
    options.rate = 0.1;
    TableRows memory(options);  // takes the same steps
    options.placement = Placement::kDisk;
    options.partitions = kPartitions;
    options.slots = BucketTour::slots_of(order, spare);
    CHECK(options.slots == 5);
    TableRows disk(options);
    const NodeDivision by{kNodes, disk.rows_each(kPartitions)};
    const BucketGround ground(links, order, spare, by, by, 500, 64);
    disk.open(ground.folder / "rows", 0);
    const LinkQueries queries = ground.queries(graph.schema, {32, 0, 0});
    std::vector<float> of_disk, of_memory;
    std::uint64_t swaps = 0;
    const auto go_to = [&](std::uint64_t epoch, std::uint64_t index, bool begins) {
      const BucketStop stop = ground.tour->at(epoch, index);
      if (begins) (void)disk.hold(stop.resident);
      std::vector<std::uint32_t> wanted = stop.resident;
      wanted.insert(wanted.end(), stop.coming.begin(), stop.coming.end());
      swaps += disk.hold(wanted);
    };
    const auto step = [&](std::uint64_t epoch, std::uint64_t index) {
      const QueryBatch batch = queries.batch(epoch, index, nullptr).or_throw();
      const auto ids = batch.seeds[0].as<std::uint64_t>();
      of_disk.resize(ids.size() * kDim);
      of_memory.resize(ids.size() * kDim);
      disk.gather(ids, of_disk);
      memory.gather(ids, of_memory);
      REQUIRE(of_disk == of_memory);
      for (float& value : of_disk) value = 0.01f * value + 0.001f;
      disk.update(ids, of_disk);
      memory.update(ids, of_disk);
    };
    const auto whole = [&](TableRows& rows) {
      std::vector<float> all(kNodes * kDim);
      rows.read_range(0, all);
      return all;
    };
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      swaps = 0;
      const std::uint64_t middle = queries.num_batches() / 2;
      for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
        go_to(epoch, index, index == 0);
        step(epoch, index);
        if (epoch != 1 || index != middle) continue;
        // As a run that is resumed: the generation that was committed, with nothing resident.
        const std::uint64_t made = disk.commit();
        disk.keep(std::vector{made});
        disk.open(ground.folder / "rows", made);
        if (index + 1 < queries.num_batches()) go_to(epoch, index + 1, true);
      }
      if (epoch != 1) CHECK(swaps == ground.tour->order(epoch).swaps());
      if (epoch != 1 && kind == BucketOrderKind::kBeta) CHECK(swaps == 42);
      CHECK(whole(disk) == whole(memory));
    }
    // Rows of a partition that is not there are read, and never moved.
    (void)disk.hold(std::vector<std::uint32_t>{0});
    const std::vector<std::uint64_t> far{kNodes - 1};
    std::vector<float> got(kDim), same(kDim);
    REQUIRE(far[0] / by.each != 0);
    disk.gather(far, got);
    memory.gather(far, same);
    CHECK(got == same);
    CHECK(expect_error([&] { disk.update(far, got); }).message().find("not resident") !=
          std::string::npos);
  }
}

}  // namespace sluice
