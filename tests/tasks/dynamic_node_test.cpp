// Dynamic node classification: figures against a brute-force evaluator, exactly, and what a query
// sees against all events.
#include "dynamic_node_support.h"
#include "samplers/temporal_neighbor_sampler.h"
#include "support/expect_error.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "tasks/dynamic_node_classification.h"
#include "tasks/dynamic_node_metrics.h"
#include "tasks/past_labels.h"

#include <sluice/loader.h>
#include <sluice/random.h>
#include <sluice/sampler.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSeed = 11;

// Nodes change their classes twice and get 900 labels within 300 seconds: several at a time, of one
// node too.
fs::path generate_labels(const TempDir& dir) {
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "temporal",
                            "--out",
                            dir / "made",
                            "--nodes",
                            "40",
                            "--events",
                            "2000",
                            "--seconds",
                            "300",
                            "--features",
                            "0",
                            "--classes",
                            "13",
                            "--drift",
                            "2",
                            "--label-events",
                            "900"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  return dir / "made";
}

// Users listen to genres, by how much: 0 is said too, and the same genre twice at a time.
struct Listening {
  static constexpr std::uint64_t kUsers = 15, kGenres = 12;
  std::vector<Said> said;  // those above 0
  std::uint64_t nothing = 0;
  fs::path data;

  explicit Listening(const TempDir& dir) {
    const RandomKey key(kSeed);
    std::string text = "user,genre,day,share\n";
    for (std::uint64_t i = 0; i < 700; ++i) {
      const auto day = static_cast<std::int64_t>(key.below(40, 4 * i));
      const std::uint64_t user = key.below(kUsers, 4 * i + 1),
                          genre = key.below(kGenres, 4 * i + 2);
      const auto eighths = static_cast<float>(key.below(9, 4 * i + 3));
      text += fmt::format("{},{},{},{}\n", user, genre, day, eighths / 8);
      if (eighths > 0) said.push_back({user, day, static_cast<std::int32_t>(genre), eighths / 8});
      nothing += eighths > 0 ? 0u : 1u;
    }
    dir.write("listens.csv", text);
    const auto config = dir.write(
        "graph.toml",
        fmt::format("[[nodes]]\ntype = \"user\"\ncount = {}\n[[nodes]]\ntype = \"genre\"\n"
                    "count = {}\n[[edges]]\nrelation = \"listens\"\nsource = \"user\"\n"
                    "target = \"genre\"\nfile = \"listens.csv\"\nsource_column = \"user\"\n"
                    "target_column = \"genre\"\ntime_column = \"day\"\nweight_column = \"share\"\n",
                    kUsers,
                    kGenres));
    const Outcome made =
        run({tool("sluice-prep"), "import", "--config", config, "--out", dir / "data"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    data = dir / "data";
  }
};

class OpenedLabels {
 public:
  explicit OpenedLabels(const fs::path& data,
                        std::optional<TemporalSamplerOptions> sampler = {},
                        Placement topology = Placement::kMemory)
      : dataset_(Dataset::open(data.string(), {.ledger = &ledger_})),
        task_({}, TaskContext{dataset_.schema()}) {
    task_.open({dataset_, "default", RandomKey(1)});
    GraphDataOptions kept;
    kept.features = Placement::kMemory;
    kept.topology = topology;
    kept.edge_times = sampler.has_value();
    kept.paged_times = !task_.reads_events();
    if (sampler)
      sampler_ = std::make_shared<SamplerKind<TemporalNeighborSampler>>(*std::move(sampler));
    data_ = std::make_unique<GraphData>(dataset_, kept, task_.labels_of());
    task_.attach(*data_);
  }

  const Dataset& dataset() const { return dataset_; }
  Task& task() { return task_; }
  const GraphData& data() const { return *data_; }

  template <class Take>
  void go_through(Part part, std::int64_t batch_size, const Take& take) {
    QueryRequest request{part, batch_size, part == Part::kTrain, RandomKey(1), sampler_, &ledger_};
    LoaderOptions options;
    options.fanout = {};
    options.sampler = sampler_;
    options.edge_ids = true;
    options.data_threads = 1;
    Loader loader(*data_, options, task_.queries(request, *data_), {}, ledger_);
    loader.start({});
    while (const auto batch = loader.next()) take(*batch);
  }

  std::map<std::string, double> measure(Model& model, Part part, std::int64_t batch_size) {
    const auto metrics = task_.make_metrics();
    go_through(part, batch_size, [&](const Batch& batch) {
      metrics->add(task_.outputs(model, batch), batch);
    });
    return metrics->result();
  }

 private:
  MemoryLedger ledger_;
  Dataset dataset_;
  tasks::DynamicNodeClassification task_;
  std::shared_ptr<const SamplerMethod> sampler_;
  std::unique_ptr<GraphData> data_;
};

tasks::PastLabels mean_of_last(const Dataset& dataset, std::int64_t count) {
  return {{.labels = count}, ModelContext{dataset.schema(), {0}, 64, RandomKey(1)}};
}

void check_figures(OpenedLabels& opened, const BruteForce& brute, bool with_accuracy) {
  const auto [train, valid] = brute.quantiles(0.7, 0.85);
  const std::size_t all = brute.queries().size();
  REQUIRE(opened.task().count(Part::kTrain, opened.data()) == train);
  REQUIRE(opened.task().count(Part::kValid, opened.data()) == valid - train);
  REQUIRE(opened.task().count(Part::kTest, opened.data()) == all - valid);
  REQUIRE(train < valid);
  REQUIRE(valid < all);
  const std::pair<Part, std::pair<std::size_t, std::size_t>> parts[] = {
      {Part::kTrain, {0, train}},
      {Part::kValid, {train, valid}},
      {Part::kTest, {valid, all}},
      {Part::kAll, {0, all}}};
  for (const std::int64_t count : {1, 7}) {
    tasks::PastLabels model = mean_of_last(opened.dataset(), count);
    for (const auto& [part, range] : parts) {
      CAPTURE(count);
      CAPTURE(static_cast<int>(part));
      const auto expected =
          brute.evaluate(range.first, range.second, static_cast<std::size_t>(count));
      for (const std::int64_t batch_size : {7, 1000}) {
        const auto got = opened.measure(model, part, batch_size);
        CHECK(got.at("ndcg@10") == expected.at("ndcg@10"));
        CHECK(got.contains("accuracy") == with_accuracy);
        if (with_accuracy) CHECK(got.at("accuracy") == expected.at("accuracy"));
        CHECK(std::isfinite(got.at("loss")));
      }
    }
  }
}

}  // namespace

TEST_CASE("NDCG by hand: linear gains, equal scores share their places") {
  const std::vector<double> gains{10, 0, 0, 1, 5};
  const std::vector<double> scores{.1, .2, .3, 4, 70};
  const double ideal = 10 + 5 / std::log2(3.0) + 0.5;
  CHECK(tasks::ndcg(gains, scores, 10) ==
        doctest::Approx((5 + 1 / std::log2(3.0) + 10 / std::log2(6.0)) / ideal).epsilon(1e-14));
  CHECK(tasks::ndcg(gains, scores, 2) ==
        doctest::Approx((5 + 1 / std::log2(3.0)) / (10 + 5 / std::log2(3.0))).epsilon(1e-14));
  // The first place is shared by gains of 10 and 5.
  CHECK(tasks::ndcg(gains, std::vector<double>{1, 0, 0, 0, 1}, 1) == doctest::Approx(0.75));
  CHECK(tasks::ndcg(gains, gains, 3) == 1);
  CHECK(tasks::ndcg(std::vector<double>(4), std::vector<double>{1, 2, 3, 4}, 10) == 0);
}

TEST_CASE("the last label and the mean of the last ones: as by brute force, exactly, of classes") {
  const TempDir dir;
  OpenedLabels opened(generate_labels(dir));
  const BruteForce brute(said_by_classes(opened.dataset(), "node__label__node"), 13);
  REQUIRE(brute.queries().size() > 600);
  REQUIRE(brute.queries().size() < 900);  // some were said twice
  CHECK(opened.task().warnings(opened.data()).empty());
  check_figures(opened, brute, true);
}

TEST_CASE("the last label and the mean of the last ones: as by brute force, exactly, of weights") {
  CAPTURE(kSeed);
  const TempDir dir;
  const Listening listening(dir);
  GraphSchema schema = Dataset::open(listening.data.string()).schema();
  CHECK_THROWS_AS(tasks::LabelRelation::find(schema, "", "test"), Error);  // none has classes
  MemoryLedger ledger;
  {
    const Dataset dataset = Dataset::open(listening.data.string(), {.ledger = &ledger});
    const auto of = tasks::LabelRelation::find(schema, "listens", "test");
    CHECK(of.node_type == 0);
    CHECK(of.classes == Listening::kGenres);
    const auto labels = std::make_shared<tasks::NodeLabels>(tasks::NodeLabels::load(dataset, of));
    CHECK(labels->left_out() == listening.nothing);
    const BruteForce brute(listening.said, Listening::kGenres);
    REQUIRE(labels->size() == brute.queries().size());
    std::vector<std::uint64_t> nodes;
    std::vector<std::int64_t> times;
    for (std::uint64_t i = 0; i < labels->size(); ++i) {
      nodes.push_back(labels->node(i));
      times.push_back(labels->time(i));
      CHECK(brute.queries()[i] == BruteForce::Query{times[i], nodes[i]});
      REQUIRE(labels->find(nodes[i], times[i]));
    }
    CHECK_FALSE(labels->find(0, -1));
    Batch batch;
    batch.queries.ids =
        Array::make(DType::kU64, {static_cast<std::int64_t>(nodes.size())}).or_throw();
    batch.queries.times =
        Array::make(DType::kI64, {static_cast<std::int64_t>(nodes.size())}).or_throw();
    std::ranges::copy(nodes, batch.queries.ids.as<std::uint64_t>().begin());
    std::ranges::copy(times, batch.queries.times.as<std::int64_t>().begin());
    for (const std::size_t count : {1u, 7u}) {
      const auto metrics =
          tasks::make_dynamic_node_metrics(labels, tasks::LabelAccuracy::kMeasured);
      metrics->add(tasks::mean_past_labels(*labels, nodes, times, count), batch);
      const auto expected = brute.evaluate(0, nodes.size(), count);
      CHECK(metrics->result().at("ndcg@10") == expected.at("ndcg@10"));
      CHECK(metrics->result().at("accuracy") == expected.at("accuracy"));
    }
  }
  CHECK(ledger.used() == 0);
}

TEST_CASE("a query sees all events before its label's time and no other, wherever batches begin") {
  const TempDir dir;
  const fs::path data = generate_labels(dir);
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    CAPTURE(topology == Placement::kDisk);
    OpenedLabels opened(data, TemporalSamplerOptions{.count = {5000}}, topology);
    const GraphSchema& schema = opened.dataset().schema();
    for (const std::int64_t batch_size : {7, 200}) {
      std::size_t asked = 0, crossed = 0;
      std::vector<BruteForce::Query> order;
      opened.go_through(Part::kAll, batch_size, [&](const Batch& batch) {
        const auto nodes = batch.queries.ids.as<std::uint64_t>();
        const auto times = batch.queries.times.as<std::int64_t>();
        const auto rows = batch.queries.nodes.as<std::int64_t>();
        crossed += times.front() != times.back() ? 1u : 0u;
        REQUIRE(batch.layers.at(0).size() == 2);
        for (const Block& block : batch.layers[0]) {
          const TemporalGraph graph =
              TemporalGraph::load(opened.dataset(), schema.relations[block.relation].key())
                  .or_throw();
          const TemporalView& view = graph.view();
          const auto offsets = block.offsets.as<std::int64_t>();
          for (std::size_t i = 0; i < nodes.size(); ++i) {
            std::set<std::uint64_t> expected, got;
            for (auto p = view.offsets[nodes[i]]; p < view.offsets[nodes[i] + 1]; ++p)
              if (view.time(p) < times[i]) expected.insert(view.edge_id(p));
            const auto row = static_cast<std::size_t>(rows[i]);
            for (auto e = offsets[row]; e < offsets[row + 1]; ++e)
              got.insert(block.edge_ids.as<std::uint64_t>()[static_cast<std::size_t>(e)]);
            CHECK(got == expected);
          }
        }
        for (std::size_t i = 0; i < nodes.size(); ++i) order.emplace_back(times[i], nodes[i]);
        asked += nodes.size();
      });
      CHECK(asked == opened.task().count(Part::kAll, opened.data()));
      CHECK(crossed > 0);
      CHECK(std::ranges::is_sorted(order));
    }
  }
}

TEST_CASE("what is no label, and what shows too much, is refused") {
  const TempDir dir;
  const fs::path data = generate_labels(dir);
  const Dataset dataset = Dataset::open(data.string());
  const auto make = [&](const tasks::DynamicNodeClassification::Options& options) {
    return expect_error([&] {
      const tasks::DynamicNodeClassification task(options, TaskContext{dataset.schema()});
    });
  };
  tasks::DynamicNodeClassification::Options options;
  options.labels = "nothing";
  CHECK(make(options).code() == ErrorCode::kUsage);
  CHECK(make(options).hint().find("node__label__node") != std::string::npos);
  options.labels = "label";
  options.split.by = tasks::SplitBy::kStored;
  CHECK(make(options).code() == ErrorCode::kUsage);
  // All labels are before training.
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  options.split.by = tasks::SplitBy::kTime;
  options.split.times = {kLast, kLast, kLast};
  tasks::DynamicNodeClassification none(options, TaskContext{dataset.schema()});
  const Error empty = expect_error([&] { none.open({dataset, "default", RandomKey(1)}); });
  CHECK(empty.code() == ErrorCode::kUsage);
  CHECK(empty.message().find("no labels for training") != std::string::npos);
  for (const auto visibility : {TemporalVisibility::kInclusive, TemporalVisibility::kBatchLag}) {
    OpenedLabels opened(data, TemporalSamplerOptions{.visibility = visibility});
    CHECK(expect_error([&] { opened.go_through(Part::kAll, 10, [](const Batch&) {}); }).code() ==
          ErrorCode::kUsage);
  }
  for (const float weight : {-1.f, std::numeric_limits<float>::infinity()}) {
    std::vector<tasks::NodeLabelEvent> events{{0, 5, 1, 1}, {1, 6, 0, weight}};
    CHECK(expect_error([&] { const tasks::NodeLabels labels(events, 2, 2, nullptr); }).code() ==
          ErrorCode::kData);
  }
  std::vector<tasks::NodeLabelEvent> events{{0, 5, 2, 1}};
  CHECK(expect_error([&] { const tasks::NodeLabels labels(events, 2, 2, nullptr); }).code() ==
        ErrorCode::kData);
}
