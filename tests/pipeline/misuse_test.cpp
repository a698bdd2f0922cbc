// What a program may get wrong about a loader and what it stands on: each is an Error that says so.
#include "loader_support.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/deferred_features.h>  // IWYU pragma: keep
#include <sluice/loader.h>
#include <sluice/samplers/node_queries.h>

#include <algorithm>
#include <stdexcept>
#include <type_traits>

using namespace sluice;
using namespace sluice::test;

namespace {

template <class T>
Array array_of(const std::vector<T>& values) {
  Array array =
      Array::make(dtype_of<T>, {static_cast<std::int64_t>(values.size())}, nullptr).or_throw();
  std::ranges::copy(values, array.as<T>().begin());
  return array;
}

// Queries of nodes 0 to 3, each of which is spoilt in its third mini-batch by `spoil`.
class SpoiltQueries final : public QuerySource {
 public:
  explicit SpoiltQueries(std::function<void(QueryBatch&)> spoil) : spoil_(std::move(spoil)) {}
  std::uint64_t num_batches() const override { return 5; }
  std::uint64_t num_queries() const override { return 20; }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* /*ledger*/) const override {
    QueryBatch made{epoch, index, index, {array_of<std::uint64_t>({0, 1, 2, 3})}, {}};
    made.queries.ids = array_of<std::uint64_t>({0, 1, 2, 3});
    made.queries.nodes = array_of<std::int64_t>({0, 1, 2, 3});
    if (index == 2) spoil_(made);
    return made;
  }

 private:
  std::function<void(QueryBatch&)> spoil_;
};

class NoSamplers final : public SamplerMethod {
 public:
  std::size_t num_layers() const override { return 1; }
  std::unique_ptr<Sampler> make(const SamplerGraph& /*graph*/,
                                const BlockParts& /*parts*/,
                                RandomKey /*key*/) const override {
    return nullptr;
  }
};

void check_usage(const std::function<void()>& action, const std::string& says) {
  const Error error = expect_error(action);
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK_MESSAGE(error.message().find(says) != std::string::npos, error.message());
  CHECK(!error.hint().empty());
}

// 500 nodes of one type, and data over them.
struct Opened {
  TempDir dir;
  MemoryLedger ledger{256 << 20};
  Dataset dataset;
  GraphData data;

  Opened() : dataset(open()), data(dataset, {}, 0) {}
  Dataset open() {
    SampleOptions sample;
    sample.nodes = 500;
    sample.edges = 2500;
    write_sample(dir / "x", sample);
    return Dataset::open((dir / "x").string(), {.ledger = &ledger});
  }
};

}  // namespace

TEST_CASE("misuse: seeds, queries and numbers that make no loader are refused") {
  Opened opened;
  GraphData& data = opened.data;
  MemoryLedger& ledger = opened.ledger;
  const Array seeds = array_of<std::uint64_t>({0, 1, 2});
  check_usage([&] { Loader(data, {}, std::shared_ptr<const QuerySource>(), {}, ledger); }, "null");
  check_usage([&] { Loader(data, {}, array_of<std::int32_t>({0, 1}), {}, ledger); }, "i32");
  for (const std::int64_t size : {0, -1})
    check_usage([&] { Loader(data, {.batch_size = size}, seeds, {}, ledger); }, "batch size");
  for (const int threads : {-1, 100'000})
    check_usage([&] { Loader(data, {.data_threads = threads}, seeds, {}, ledger); }, "threads");
  const GraphSchema& schema = data.schema();
  check_usage([&] { NodeQueries(schema, {.nodes = seeds, .type = 1}, &ledger); }, "type 1");
  check_usage(
      [&] {
        NodeQueries(schema, {.nodes = seeds, .times = array_of<std::int64_t>({1, 2})}, &ledger);
      },
      "times of 2");
  check_usage(
      [&] {
        Loader loader(data, {.sampler = std::make_shared<NoSamplers>()}, seeds, {}, ledger);
        loader.start({});
        while (loader.next()) {
        }
      },
      "null");
  Loader nothing(data, {}, Array(), {}, ledger);
  nothing.start({});
  CHECK(nothing.next() == nullptr);
  CHECK(nothing.probe(2).batches == 0);
  check_usage([&] { nothing.blank(); }, "no mini-batches");
}

TEST_CASE("misuse: types, relations and ids that a dataset lacks are refused") {
  Opened opened;
  const Dataset& dataset = opened.dataset;
  check_usage([&] { GraphData(dataset, {}, 7); }, "no node type 7");
  check_usage([&] { GraphData(dataset, {}, LabelsOf{.relation = 7}); }, "no relation 7");
  check_usage(
      [&] {
        GraphData(dataset, {}, LabelsOf{.relation = 0, .more = array_of<std::uint64_t>({1})});
      },
      "not i32");
  check_usage([&] { (void)opened.data.node_times(7); }, "no node type 7");
  const std::vector<std::uint64_t> ids{3, 500};
  check_usage([&] { (void)opened.data.labels(ids); }, "id 500");
  CHECK(opened.data.labels(std::span(ids).first(1)).numel() == 1);
  // Data never stands on a dataset that ends with the line.
  static_assert(!std::is_constructible_v<GraphData, Dataset, GraphDataOptions, LabelsOf>);
  static_assert(!std::is_constructible_v<GraphData, Dataset, GraphDataOptions, std::size_t>);
  static_assert(std::is_constructible_v<GraphData, Dataset&, GraphDataOptions, std::size_t>);
}

TEST_CASE("misuse: what a query source spoils or throws reaches the consumer, again and again") {
  Opened opened;
  const auto spoilt = [&](const std::function<void(QueryBatch&)>& spoil, const auto& check) {
    Loader loader(opened.data, {}, std::make_shared<SpoiltQueries>(spoil), {}, opened.ledger);
    loader.start({});
    const auto go_on = [&] {
      while (loader.next()) {
      }
    };
    for (int again = 0; again < 2; ++again) check(go_on);
  };
  const auto usage = [&](const std::string& says, const std::function<void(QueryBatch&)>& spoil) {
    spoilt(spoil, [&](const auto& go_on) { check_usage(go_on, says); });
  };
  usage("id 500", [](QueryBatch& batch) { batch.queries.ids.as<std::uint64_t>()[1] = 500; });
  usage("seeds of mini-batch 2 as i32", [](QueryBatch& batch) {
    batch.seeds[0] = array_of<std::int32_t>({0, 1, 2, 3});
  });
  usage("Queries::ids of mini-batch 2 as i64",
        [](QueryBatch& batch) { batch.queries.ids = batch.queries.nodes; });
  spoilt([](QueryBatch&) { throw std::runtime_error("their own"); },
         [](const auto& go_on) { CHECK_THROWS_WITH_AS(go_on(), "their own", std::runtime_error); });
}

TEST_CASE("misuse: rows of deferred features beyond the mini-batch's are refused") {
  Opened opened;
  for (const Placement features : {Placement::kMemory, Placement::kDisk}) {
    GraphData data(opened.dataset, {.features = features}, 0);
    LoaderOptions options = base_options();
    options.deferred_features = true;
    Loader loader(data, options, opened.dataset.split("default").train, {}, opened.ledger);
    loader.start({});
    const auto batch = loader.next();
    REQUIRE(batch->deferred != nullptr);
    const std::int64_t rows = batch->nodes[0].ids.numel();
    const auto columns = static_cast<std::size_t>(batch->deferred->columns(0, 0));
    std::vector<float> out(2 * columns);
    batch->deferred->gather(0, 0, rows - 2, out);
    for (const std::int64_t first : {rows - 1, rows + 1, std::int64_t{-1}})
      check_usage([&] { batch->deferred->gather(0, 0, first, out); }, "rows from");
  }
}
