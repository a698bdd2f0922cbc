// Link tasks over the dataset's own edge splits: what is asked for is what the split's files say,
// and training sees none of it, by brute force.
#include "storage/format/dataset_writer.h"
#include "storage/format/manifest.h"
#include "support/expect_error.h"
#include "support/process.h"
#include "support/temp_dir.h"
#include "tasks/edge_classification.h"
#include "tasks/link_prediction.h"

#include <sluice/dataset.h>
#include <sluice/loader.h>
#include <sluice/sampler.h>

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <span>
#include <tuple>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

using Ends = std::pair<std::uint64_t, std::uint64_t>;
using Asked = std::multiset<std::tuple<std::uint64_t, std::uint64_t, bool>>;

Ends turned(const Ends& ends) {
  return {ends.second, ends.first};
}

constexpr std::uint64_t kNodes = 60;

// Distinct pairs, none of a node with itself; some lead back along others where `both`.
std::vector<Ends> draw_pairs(std::size_t count, std::uint64_t seed, bool both) {
  const RandomKey key(seed);
  std::set<Ends> seen;
  std::vector<Ends> pairs;
  for (std::uint64_t n = 0; pairs.size() < count; ++n) {
    const Ends ends{key.below(kNodes, 2 * n), key.below(kNodes, 2 * n + 1)};
    if (ends.first == ends.second || seen.contains(ends)) continue;
    if (!both && seen.contains(turned(ends))) continue;
    seen.insert(ends);
    pairs.push_back(ends);
  }
  return pairs;
}

std::string csv_of(std::span<const Ends> pairs) {
  std::string text = "src,dst\n";
  for (const auto& [from, to] : pairs) text += fmt::format("{},{}\n", from, to);
  return text;
}

fs::path import_graph(const TempDir& dir, const std::string& toml) {
  const fs::path config = dir.write("graph.toml", toml);
  const Outcome outcome =
      run({tool("sluice-prep"), "import", "--config", config, "--out", dir / "data"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return dir / "data";
}

// The dataset with another part of its split "default".
fs::path with_part(const fs::path& data,
                   const std::string& part,
                   const std::vector<std::uint64_t>& values,
                   const fs::path& out) {
  const Manifest manifest = Manifest::load(data).or_throw();
  DatasetWriter writer(out, Overwrite::kReplace, nullptr);
  const std::string changed = split_path("default", part);
  for (const auto& [path, entry] : manifest.files)
    if (path != changed) writer.adopt(data, entry);
  writer.write(changed, std::span<const std::uint64_t>(values));
  writer.schema() = manifest.schema;
  EdgeSplitSchema& split = writer.schema().edge_splits.at(0);
  const std::uint64_t count = values.size() / (split.relation.empty() ? 5 : 1);
  (part == "train" ? split.train : part == "valid" ? split.valid : split.test) = count;
  writer.commit("test");
  return out;
}

/// A task over a dataset, and what it opens.
class OpenedTask {
 public:
  OpenedTask(const fs::path& data, LinkPartsOptions links, Placement topology)
      : dataset_(Dataset::open(data.string(), {.ledger = &ledger_})),
        task_(options_of(std::move(links)), TaskContext{dataset_.schema()}) {
    task_.open({dataset_, "default", RandomKey(1)});
    GraphDataOptions kept;
    kept.features = Placement::kMemory;
    kept.topology = topology;
    kept.edge_rules = task_.edge_rules();
    data_ = std::make_unique<GraphData>(dataset_, kept, task_.labels_of());
  }

  const Dataset& dataset() const { return dataset_; }
  const Task& task() const { return task_; }
  const GraphData& data() const { return *data_; }

  using Seen = std::function<void(const Ends&)>;
  /// What an epoch of a part asks for; `seen` is told each edge of its blocks.
  Asked ask(Part part, const Seen& seen) {
    Asked asked;
    const bool train = part == Part::kTrain;
    QueryRequest request{part, 16, train, RandomKey(1), {}, &ledger_};
    LoaderOptions options;
    options.fanout = {-1, -1};
    options.data_threads = 1;
    Loader loader(*data_, options, task_.queries(request, *data_), {}, ledger_);
    loader.start({});
    while (const auto batch = loader.next()) {
      const Queries& queries = batch->queries;
      const std::vector<Array> ends = task_.predicted_nodes(*batch);
      for (std::size_t i = 0; i < static_cast<std::size_t>(queries.size()); ++i)
        asked.insert({ends[0].as<std::uint64_t>()[i],
                      ends[1].as<std::uint64_t>()[i],
                      queries.truth.empty() || queries.truth.as<std::uint8_t>()[i] != 0});
      for (const auto& layer : batch->layers)
        for (const Block& block : layer) look_at(*batch, block, seen);
    }
    return asked;
  }

 private:
  static tasks::LinkPrediction::Options options_of(LinkPartsOptions links) {
    tasks::LinkPrediction::Options options;
    options.links = std::move(links);
    return options;
  }

  static void look_at(const Batch& batch, const Block& block, const Seen& seen) {
    const auto sources = batch.nodes[block.source_type].ids.as<std::uint64_t>();
    const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
    const auto offsets = block.offsets.as<std::int64_t>();
    for (std::size_t t = 0; t < static_cast<std::size_t>(block.num_targets); ++t)
      for (auto e = offsets[t]; e < offsets[t + 1]; ++e) {
        const auto row = block.neighbours.as<std::int32_t>()[static_cast<std::size_t>(e)];
        seen({sources[static_cast<std::size_t>(row)], targets[t]});
      }
  }

  MemoryLedger ledger_;
  Dataset dataset_;
  tasks::LinkPrediction task_;
  std::unique_ptr<GraphData> data_;
};

// Of a training graph's edges: which ones no mini-batch may see, and the others once each.
Asked training_of(const std::vector<Ends>& edges, const std::set<Ends>& hidden) {
  Asked asked;
  for (const Ends& ends : edges)
    if (!hidden.contains(ends)) asked.insert({ends.first, ends.second, true});
  return asked;
}

}  // namespace

TEST_CASE("a split by rows: its links are asked for, and training sees none, nor their reverse") {
  const TempDir dir;
  const std::vector<Ends> edges = draw_pairs(400, 1, false);
  dir.write("edges.csv", csv_of(edges));
  // Of each part: edges of the graph as they are, the other way round, and links of their own.
  std::vector<std::tuple<Ends, int>> parts[2];
  const std::vector<Ends> others = draw_pairs(40, 2, true);
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t part = 0; part < 2; ++part) {
      parts[part].push_back({edges[part * 100 + i], 1});
      parts[part].push_back({turned(edges[part * 100 + 20 + i]), 1});
      parts[part].push_back({others[part * 20 + i], static_cast<int>(i % 2)});
    }
  }
  std::set<Ends> hidden;
  Asked listed[2];
  for (std::size_t part = 0; part < 2; ++part) {
    std::string text = "src,dst,y\n";
    for (const auto& [ends, y] : parts[part]) {
      text += fmt::format("{},{},{}\n", ends.first, ends.second, y);
      listed[part].insert({ends.first, ends.second, y == 1});
      if (y == 1) hidden.insert({ends, turned(ends)});
    }
    dir.write(part == 0 ? "valid.csv" : "test.csv", text);
  }
  const fs::path data = import_graph(dir,
                                     "[[nodes]]\ncount = 60\n"
                                     "[[edges]]\nfile = \"edges.csv\"\nundirected = true\n"
                                     "[[splits]]\nof = \"edges\"\nvalid = \"valid.csv\"\n"
                                     "test = \"test.csv\"\nlabel_column = \"y\"\n");
  std::vector<Ends> both = edges;
  for (const Ends& ends : edges) both.push_back(turned(ends));
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    CAPTURE(topology == Placement::kDisk);
    OpenedTask opened(data, {}, topology);
    std::size_t seen = 0;
    const auto look = [&](const Ends& ends) {
      ++seen;
      REQUIRE_FALSE(hidden.contains(ends));
    };
    CHECK(opened.ask(Part::kTrain, look) == training_of(both, hidden));
    CHECK(opened.ask(Part::kValid, look) == listed[0]);
    CHECK(opened.ask(Part::kTest, look) == listed[1]);
    CHECK(seen > 1000);
    const std::vector<std::string> warnings = opened.task().warnings(opened.data());
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0].find("edges of 'node__edge__node' are valid or test edges of split "
                           "'default': no mini-batch sees them") != std::string::npos);
  }

  // Rows that name what is not there.
  const auto refused = [&](std::vector<std::uint64_t> row) {
    const fs::path bad = with_part(data, "test", row, dir / "bad");
    return expect_error([&] { const OpenedTask opened(bad, {}, Placement::kMemory); });
  };
  const Error node = refused({0, 0, 1, kNodes, 1});
  CHECK(node.code() == ErrorCode::kData);
  CHECK(node.message() ==
        "edge split 'default', part test: row 0 names a target that is not there: number 60");
  CHECK(node.place().file == (dir / "bad").string());
  CHECK(refused({0, 0, 77, 1, 1}).message().find("a source that is not there: number 77") !=
        std::string::npos);
  CHECK(refused({1, 0, 1, 2, 1}).message().find("a relation that is not there: number 1") !=
        std::string::npos);
}

TEST_CASE("a split by ids: its edges are asked for, and training sees none, nor their reverse") {
  const TempDir dir;
  bool undirected = false;
  SUBCASE("each direction an edge of its own") {}
  SUBCASE("both directions one edge") {
    undirected = true;
  }
  const std::vector<Ends> edges = draw_pairs(700, 3, !undirected);
  dir.write("edges.csv", csv_of(edges));
  const fs::path data = import_graph(
      dir,
      fmt::format("[[nodes]]\ncount = 60\n[[edges]]\nfile = \"edges.csv\"\nundirected = {}\n"
                  "[[splits]]\nof = \"edges\"\nratio = [0.6, 0.1, 0.2]\n",
                  undirected));
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    CAPTURE(topology == Placement::kDisk);
    OpenedTask opened(data, {}, topology);
    const EdgeSplit split = opened.dataset().edge_split("default");
    const auto listed = [&](const Array& ids) {
      Asked asked;
      for (const std::uint64_t id : ids.as<std::uint64_t>()) {
        asked.insert({edges[id].first, edges[id].second, true});
        if (undirected) asked.insert({edges[id].second, edges[id].first, true});
      }
      return asked;
    };
    const Asked valid = listed(split.valid), test = listed(split.test);
    Asked train = listed(split.train);
    std::set<Ends> hidden, trained;
    for (const Asked* part : {&valid, &test})
      for (const auto& [from, to, truth] : *part) hidden.insert({{from, to}, {to, from}});
    const std::size_t all = train.size();
    std::erase_if(train, [&](const auto& link) {
      return hidden.contains({std::get<0>(link), std::get<1>(link)});
    });
    CHECK((train.size() == all) == undirected);
    for (const auto& [from, to, truth] : train) trained.insert({from, to});
    std::size_t seen = 0;
    const auto look = [&](const Ends& ends) {
      ++seen;
      REQUIRE_FALSE(hidden.contains(ends));
      REQUIRE(trained.contains(ends));
    };
    CHECK(opened.ask(Part::kTrain, look) == train);
    CHECK(opened.ask(Part::kValid, look) == valid);
    CHECK(opened.ask(Part::kTest, look) == test);
    CHECK(seen > 1000);
    CHECK(opened.task().expected(Part::kTest, opened.dataset().schema(), "default") == test.size());
  }

  const fs::path bad = with_part(data, "valid", {3, 700}, dir / "bad");
  const Error error = expect_error([&] { const OpenedTask opened(bad, {}, Placement::kMemory); });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(error.message().find("edge split 'default' of 'node__edge__node', part valid: there is no "
                             "edge 700") != std::string::npos);
  CHECK(error.hint().find("prepare both again") != std::string::npos);
}

TEST_CASE("classes of edges: rows of a split bring their types along") {
  const TempDir dir;
  const std::vector<Ends> edges = draw_pairs(60, 5, true);
  std::string texts[2] = {"src,dst,kind\n", "src,dst,kind\n"};
  std::map<Ends, int> kinds;
  const char* const names[] = {"likes", "knows", "owes"};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    kinds[edges[i]] = static_cast<int>(i % 3);
    texts[i % 4 == 3] += fmt::format("{},{},{}\n", edges[i].first, edges[i].second, names[i % 3]);
  }
  dir.write("edges.csv", texts[0]);
  dir.write("valid.csv", texts[1]);
  const fs::path data = import_graph(dir,
                                     "[[nodes]]\ncount = 60\n"
                                     "[[edges]]\nfile = \"edges.csv\"\ntype_column = \"kind\"\n"
                                     "types = \"labels\"\n"
                                     "[[splits]]\nof = \"edges\"\nvalid = \"valid.csv\"\n");
  MemoryLedger ledger;
  const Dataset dataset = Dataset::open(data.string(), {.ledger = &ledger});
  tasks::EdgeClassification task({}, TaskContext{dataset.schema()});
  task.open({dataset, "default", RandomKey(1)});
  GraphDataOptions kept;
  kept.features = Placement::kMemory;
  kept.edge_rules = task.edge_rules();
  GraphData opened(dataset, kept, task.labels_of());
  const std::vector<std::string> called = task.prediction_names();
  for (const Part part : {Part::kTrain, Part::kValid}) {
    CHECK(task.has_labels(part, opened));
    LoaderOptions options;
    options.fanout = {-1};
    const QueryRequest request{part, 7, false, RandomKey(1), {}, &ledger};
    Loader loader(opened, options, task.queries(request, opened), {}, ledger);
    loader.start({});
    std::size_t asked = 0;
    while (const auto batch = loader.next()) {
      const std::vector<Array> ends = task.predicted_nodes(*batch);
      const auto labels = batch->labels.as<std::int32_t>();
      for (std::size_t i = 0; i < labels.size(); ++i, ++asked) {
        const Ends link{ends[0].as<std::uint64_t>()[i], ends[1].as<std::uint64_t>()[i]};
        CHECK(called.at(static_cast<std::size_t>(labels[i])) ==
              names[static_cast<std::size_t>(kinds.at(link))]);
      }
    }
    CHECK(asked == (part == Part::kTrain ? opened.graph().relations[0]->num_edges() : 15));
  }
}

TEST_CASE("a relation that holds the asked one the other way round must be named") {
  const TempDir dir;
  const RandomKey key(6);
  std::string likes = "user,item\n", sells = "item,user\n";
  for (std::uint64_t n = 0; n < 300; ++n) {
    likes += fmt::format("{},{}\n", key.below(80, 4 * n), key.below(50, 4 * n + 1));
    sells += fmt::format("{},{}\n", key.below(50, 4 * n + 2), key.below(80, 4 * n + 3));
  }
  dir.write("likes.csv", likes);
  dir.write("sells.csv", sells);
  const fs::path data = import_graph(
      dir,
      "[[nodes]]\ntype = \"user\"\ncount = 80\n[[nodes]]\ntype = \"item\"\ncount = 50\n"
      "[[edges]]\nrelation = \"sells\"\nfile = \"sells.csv\"\nsource = \"item\"\n"
      "target = \"user\"\n"
      "[[edges]]\nrelation = \"likes\"\nfile = \"likes.csv\"\nsource = \"user\"\n"
      "target = \"item\"\nreverse = \"liked_by\"\n");
  LinkPartsOptions links;
  links.relation = "likes";
  links.edge_split = {0.8, 0.1, 0.1};
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    OpenedTask unnamed(data, links, topology);
    const Error error = expect_error([&] { unnamed.ask(Part::kTrain, [](const Ends&) {}); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message() ==
          "task 'link_prediction': relation 'item__liked_by__user' holds the edges of "
          "'user__likes__item' the other way round, and would show the links that are asked about");
    CHECK(error.hint() == "set [task] reverse = \"item__liked_by__user\"");
    LinkPartsOptions named = links;
    named.reverse = "item__liked_by__user";
    OpenedTask opened(data, named, topology);
    CHECK(opened.ask(Part::kTrain, [](const Ends&) {}).size() > 200);
    // One with as many edges that are others is no reverse.
    LinkPartsOptions other = links;
    other.relation = "sells";
    OpenedTask apart(data, other, topology);
    CHECK(apart.ask(Part::kTrain, [](const Ends&) {}).size() > 200);
  }
}

TEST_CASE("a relation that held the asked one the other way round before it grew must be named") {
  const TempDir dir;
  const RandomKey key(7);
  std::string likes = "user,item\n", before;
  for (std::uint64_t n = 0; n < 300; ++n) {
    likes += fmt::format("{},{}\n", key.below(80, 2 * n), key.below(50, 2 * n + 1));
    if (n == 220) before = likes;
  }
  dir.write("likes.csv", likes);
  dir.write("before.csv", before);
  const fs::path data = import_graph(
      dir,
      "[[nodes]]\ntype = \"user\"\ncount = 80\n[[nodes]]\ntype = \"item\"\ncount = 50\n"
      "[[edges]]\nrelation = \"likes\"\nfile = \"likes.csv\"\nsource = \"user\"\n"
      "target = \"item\"\n"
      "[[edges]]\nrelation = \"liked_by\"\nfile = \"before.csv\"\nsource = \"item\"\n"
      "target = \"user\"\nsource_column = \"item\"\ntarget_column = \"user\"\n");
  for (const char* relation : {"likes", "liked_by"}) {
    CAPTURE(std::string(relation));
    LinkPartsOptions links;
    links.relation = relation;
    links.edge_split = {0.8, 0.1, 0.1};
    OpenedTask unnamed(data, links, Placement::kMemory);
    const Error error = expect_error([&] { unnamed.ask(Part::kTrain, [](const Ends&) {}); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message().find("the other way round") != std::string::npos);
  }
}
