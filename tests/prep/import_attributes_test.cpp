// What stands beside edges and nodes: times, weights, types, features, labels; unknown ids; graphs;
// splits of edges and graphs. Checked against brute force.
#include "import_support.h"
#include "prep/check/verify.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

struct Event {
  std::int64_t source, target, time;
  float weight;
  int type;
};

std::vector<Event> random_events(std::uint64_t seed, std::size_t count, std::int64_t nodes) {
  const RandomKey key(seed);
  std::vector<Event> events;
  for (std::size_t i = 0; i < count; ++i) {
    const RandomKey one = key.with(i);
    events.push_back({static_cast<std::int64_t>(one.below(static_cast<std::uint64_t>(nodes), 0)),
                      static_cast<std::int64_t>(one.below(static_cast<std::uint64_t>(nodes), 1)),
                      static_cast<std::int64_t>(one.below(50, 2)) - 20,
                      static_cast<float>(one.below(1000, 3)) / 8,
                      static_cast<int>(one.below(3, 4))});
  }
  return events;
}

std::string csv_of(const std::vector<Event>& events) {
  std::string text = "src,dst,t,w,kind\n";
  for (const Event& e : events)
    text += fmt::format("{},{},{},{},k{}\n", e.source, e.target, e.time, e.weight, e.type);
  return text;
}

void check_sound(const ImportFolder& folder) {
  MemoryLedger ledger;
  ThreadArena arena(1);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  const VerifyReport report = verify_dataset(folder.out(), context);
  INFO(fmt::format("{}", fmt::join(report.problems, "\n")));
  CHECK(report.problems.empty());
}

/// In-edges of each node as (time, edge id), by brute force: ascending by time, then by edge id.
void check_temporal(const Dataset& dataset,
                    const std::string& key,
                    const std::vector<Event>& events) {
  const auto topology = dataset.topology(key);
  const CscView& csc = *topology->resident();
  const std::vector<std::uint64_t> ids = edge_ids(dataset, key);
  const Array times = dataset.edge_times(key), weights = dataset.edge_weights(key);
  for (std::uint64_t node = 0; node < topology->num_targets(); ++node) {
    std::vector<std::pair<std::int64_t, std::uint64_t>> expected;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events[i].target == static_cast<std::int64_t>(node))
        expected.emplace_back(events[i].time, i);
    std::sort(expected.begin(), expected.end());
    REQUIRE(csc.offsets[node + 1] - csc.offsets[node] == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::uint64_t at = csc.offsets[node] + i;
      const auto [time, id] = expected[i];
      CHECK(times.as<std::int64_t>()[at] == time);
      CHECK(ids[at] == id);
      CHECK(csc.neighbour(at) == static_cast<std::uint64_t>(events[id].source));
      CHECK(weights.as<float>()[at] == events[id].weight);
    }
  }
}

const std::string kTimed =
    "[[nodes]]\ncount = 60\n[[edges]]\nfile = 'e.csv'\ntime_column = 't'\nweight_column = 'w'\n";

}  // namespace

TEST_CASE("import: events in any order stand in the order of time, then of the file") {
  const std::uint64_t seed = random_seed();
  CAPTURE(seed);
  for (const bool sorted : {false, true}) {
    CAPTURE(sorted);
    std::vector<Event> events = random_events(seed, 3'000, 60);
    if (sorted)
      std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return a.time < b.time;
      });
    ImportFolder folder;
    folder.write("e.csv", csv_of(events));
    folder.run(kTimed + "reverse = 'back'\n");
    check_sound(folder);
    const Dataset dataset = Dataset::open(folder.out());
    check_temporal(dataset, "node__edge__node", events);
    for (Event& e : events) std::swap(e.source, e.target);
    check_temporal(dataset, "node__back__node", events);
  }
}

TEST_CASE("import: events within a small budget are the same, byte for byte") {
  const std::vector<Event> events = random_events(random_seed(), 900'000, 60);
  ImportFolder folder;
  folder.write("e.csv", csv_of(events));
  folder.run_into(kTimed, folder.dir / "out/large");
  folder.budget = 44 * kMiB;
  folder.run_into(kTimed, folder.dir / "out/small");
  for (const char* file : {"offsets", "neighbours", "edge_ids", "times", "weights"}) {
    CAPTURE(file);
    const std::string name = fmt::format("edges/node__edge__node/{}.bin", file);
    CHECK(read_all(folder.dir / "out/large" / name) == read_all(folder.dir / "out/small" / name));
  }
}

TEST_CASE("import: both ways of an undirected event have its id, time and weight") {
  ImportFolder folder;
  folder.write("e.csv", "src,dst,t,w,kind\n0,1,7,.5,a\n1,2,3,2,a\n2,2,5,1,a\n");
  folder.run(
      "[[edges]]\nfile = 'e.csv'\nundirected = true\ntime_column = 't'\nweight_column = 'w'\n");
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(in_edges(dataset, "node__edge__node") ==
        std::vector<std::vector<std::uint64_t>>{{1}, {2, 0}, {1, 2}});
  CHECK(edge_ids(dataset, "node__edge__node") == std::vector<std::uint64_t>{0, 1, 0, 1, 2});
  CHECK(as_vector<std::int64_t>(dataset.edge_times("node__edge__node")) ==
        std::vector<std::int64_t>{7, 3, 7, 3, 5});
  CHECK(as_vector<float>(dataset.edge_weights("node__edge__node")) ==
        std::vector<float>{.5f, 2, .5f, 2, 1});
}

TEST_CASE("import: times in another unit, and times of nodes") {
  ImportFolder folder;
  folder.write("e.csv", "s,t,when\n0,1,1.5\n1,0,0.25\n");
  folder.write("n.csv", "born\n1000\n-7\n");
  folder.run(
      "[[nodes]]\ntimes.file = 'n.csv'\n[[edges]]\nfile = 'e.csv'\ntime_column = 'when'\n"
      "time_scale = 1000\n");
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(as_vector<std::int64_t>(dataset.edge_times("node__edge__node")) ==
        std::vector<std::int64_t>{250, 1500});
  CHECK(as_vector<std::int64_t>(dataset.node_times("node")) == std::vector<std::int64_t>{1000, -7});
  check_sound(folder);
}

TEST_CASE("import: a relation a type, and types as labels of one relation") {
  const std::vector<Event> events = random_events(random_seed(), 500, 20);
  ImportFolder folder;
  folder.write("e.csv", csv_of(events));
  const std::string toml =
      "[[nodes]]\ncount = 20\n[[edges]]\nfile = 'e.csv'\ntype_column = 'kind'\ntime_column = 't'\n";
  folder.run(toml);
  check_sound(folder);
  const Dataset one_each = Dataset::open(folder.out());
  REQUIRE(one_each.schema().relations.size() == 3);
  for (int type = 0; type < 3; ++type) {
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < events.size(); ++i)
      if (events[i].type == type) order.emplace_back(events[i].time, i);
    std::sort(order.begin(), order.end());
    Pairs pairs;
    for (const auto& [time, i] : order) pairs.emplace_back(events[i].source, events[i].target);
    CHECK(in_edges(one_each, fmt::format("node__k{}__node", type)) == in_edges(20, pairs));
  }
  folder.run_into(toml + "types = 'labels'\n", folder.dir / "out/labels");
  const Dataset labels = Dataset::open(folder.dir / "out/labels");
  const RelationSchema& relation = labels.schema().relations.at(0);
  const Array stored = labels.edge_labels(relation.key());
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(relation.labels->names.at(static_cast<std::size_t>(stored.as<std::int32_t>()[i])) ==
          fmt::format("k{}", events[i].type));
  }
}

TEST_CASE("import: the reverse of a relation has the types of its edges as labels too") {
  ImportFolder folder;
  folder.write("e.tsv", "a\tlikes\tb\nb\tknows\tc\nc\tlikes\tb\nb\tlikes\tb\n");
  folder.run(
      "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.tsv'\nformat = 'triples'\n"
      "source_column = 'head'\ntarget_column = 'tail'\ntype_column = 'relation'\n"
      "types = 'labels'\nreverse = 'back'\n");
  check_sound(folder);
  const Dataset dataset = Dataset::open(folder.out());
  REQUIRE(dataset.schema().relations.size() == 2);
  const RelationSchema &there = dataset.schema().relations[0],
                       &back = dataset.schema().relations[1];
  REQUIRE(back.labels);
  CHECK(back.labels->names == there.labels->names);
  CHECK(as_vector<std::int32_t>(dataset.edge_labels(back.key())) ==
        as_vector<std::int32_t>(dataset.edge_labels(there.key())));
  CHECK(edge_ids(dataset, there.key()) == std::vector<std::uint64_t>{0, 2, 3, 1});
  CHECK(edge_ids(dataset, back.key()) == std::vector<std::uint64_t>{0, 1, 3, 2});
}

TEST_CASE("import: the reverse of a relation has its features, by the same ids") {
  ImportFolder folder;
  folder.write("e.csv", "s,t,time,a,b\n0,1,9,1,2\n2,0,5,3,4\n1,0,7,5,6\n");
  folder.run(
      "[[edges]]\nfile = 'e.csv'\ntime_column = 'time'\nfeatures.columns = ['a', 'b']\n"
      "reverse = 'back'\n");
  check_sound(folder);
  const Dataset dataset = Dataset::open(folder.out());
  REQUIRE(dataset.schema().relations.size() == 2);
  const RelationSchema& back = dataset.schema().relations[1];
  CHECK(back.key() == "node__back__node");
  REQUIRE(back.features.size() == 1);
  CHECK(back.features[0].rows == 3);
  CHECK(edge_ids(dataset, back.key()) == std::vector<std::uint64_t>{0, 2, 1});
  const std::vector<std::uint64_t> wanted{2, 0, 1};
  std::vector<float> there(6), rows(6);
  dataset.edge_features("node__edge__node")
      ->gather(wanted, std::as_writable_bytes(std::span(there)))
      .or_throw();
  dataset.edge_features(back.key())
      ->gather(wanted, std::as_writable_bytes(std::span(rows)))
      .or_throw();
  CHECK(rows == std::vector<float>{5, 6, 1, 2, 3, 4});
  CHECK(rows == there);
  // One content on the disk.
  CHECK(std::filesystem::equivalent(folder.out() / "edges/node__edge__node/features.bin",
                                    folder.out() / "edges/node__back__node/features.bin"));
}

TEST_CASE("import: types that are no names for folders keep theirs as titles") {
  ImportFolder folder;
  folder.write("e.csv", "h,t,r\na,b,/people/person__x\nb,c,_hypernym\n");
  const std::string toml =
      "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.csv'\ntype_column = 'r'\n";
  folder.run(toml);
  const Dataset dataset = Dataset::open(folder.out());
  const auto& relations = dataset.schema().relations;
  CHECK(relations.at(0).name == "people_person_x");
  CHECK(relations.at(0).title == "/people/person__x");
  CHECK(relations.at(1).name == "hypernym");
  folder.write("e.csv", "h,t,r\na,b,x y\nb,c,x_y\n");
  folder.run(toml, Overwrite::kReplace);
  const Dataset alike = Dataset::open(folder.out());
  CHECK(alike.schema().relations[0].title == "x y");
  CHECK(alike.schema().relations[0].name.starts_with("x_y_"));
  CHECK(alike.schema().relations[1].name == "x_y");
}

TEST_CASE("import: features and labels of edges stand by edge id, of the same file or their own") {
  ImportFolder folder;
  folder.write("e.csv", "s,t,a,b,cls\n0,1,1,2,yes\n1,1,3,4,no\n2,0,5,6,\n");
  folder.write("f.npy", npy_rows(3, 2, {1, 2, 3, 4, 5, 6}));
  const std::string edges =
      "[[edges]]\nfile = 'e.csv'\nself_loops = 'drop'\nlabels.columns = ['cls']\nlabels.kind = "
      "'name'\n";
  for (const char* keys : {"features.columns = ['a', 'b']\n", "features.file = 'f.npy'\n"}) {
    folder.run(edges + keys, Overwrite::kReplace);
    check_sound(folder);
    const Dataset dataset = Dataset::open(folder.out());
    const auto store = dataset.edge_features("node__edge__node");
    CHECK(dataset.schema().relations[0].features[0].rows == 3);
    const std::vector<std::uint64_t> wanted{2, 0};
    std::vector<float> rows(4);
    store->gather(wanted, std::as_writable_bytes(std::span(rows))).or_throw();
    CHECK(rows == std::vector<float>{5, 6, 1, 2});
    CHECK(as_vector<std::int32_t>(dataset.edge_labels("node__edge__node")) ==
          std::vector<std::int32_t>{1, 0, -1});
    CHECK(dataset.schema().relations[0].labels->names == std::vector<std::string>{"no", "yes"});
  }
  folder.write("f.npy", npy_rows(2, 2, {1, 2, 3, 4}));
  CHECK(as_text(expect_error(
                    [&] { folder.run(edges + "features.file = 'f.npy'\n", Overwrite::kReplace); }),
                folder) ==
        "data|ROOT/raw/f.npy: 2 rows for 3 edges of relation 'node__edge__node'|every edge needs "
        "exactly one row, in the order of the edges");
}

TEST_CASE("import: unknown ids are an error, skipped and counted, or become nodes") {
  ImportFolder folder;
  folder.write("n.csv", "id\nb\na\n");
  folder.write("e.csv", "s,t\na,b\nx,a\nb,y\nb,a\n");
  folder.write("y.csv", "id,label\na,1\nq,0\n");
  folder.write("train.csv", "id\nq\nb\n");
  const std::string nodes =
      "[[nodes]]\nids = 'string'\nid_list.file = 'n.csv'\nlabels = { file = 'y.csv', id_column = "
      "'id' }\n";
  const std::string rest = "[[edges]]\nfile = 'e.csv'\nedge_ids = true\n";
  CHECK(
      as_text(expect_error([&] { folder.run(nodes + rest); }), folder) ==
      "data|ROOT/raw/y.csv:3: column 'id': no node of type 'node' has the id 'q'|the ids are those "
      "of n.csv; unknown_ids = \"skip\" leaves out "
      "what has others, \"create\" makes nodes of them");
  const ImportReport skipped =
      folder.run(nodes + "unknown_ids = 'skip'\n" + rest + "[[splits]]\ntrain = 'train.csv'\n");
  CHECK(skipped.relations.at(0).skipped == 2);
  CHECK(skipped.types.at(0).skipped == 2);
  check_sound(folder);
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(in_edges(dataset, "node__edge__node") == std::vector<std::vector<std::uint64_t>>{{1}, {0}});
  CHECK(edge_ids(dataset, "node__edge__node") ==
        std::vector<std::uint64_t>{0, 3});  // its row in the file
  folder.write("y.csv", "id,label\na,1\ny,0\n");
  const ImportReport created =
      folder.run(nodes + "unknown_ids = 'create'\n" + rest, Overwrite::kReplace);
  CHECK(created.types.at(0).created == 2);
  const Dataset larger = Dataset::open(folder.out());
  std::string ids;
  for (std::uint64_t i = 0; i < 4; ++i) ids += larger.ids("node").text(i);
  CHECK(ids == "baxy");
  CHECK(as_vector<std::int32_t>(larger.labels("node")) == std::vector<std::int32_t>{-1, 1, -1, 0});
}

TEST_CASE("import: dense ids that begin with 1 keep their names") {
  ImportFolder folder;
  folder.write("e.csv", "s,t\n1,3\n3,2\n");
  folder.run("[[nodes]]\nfirst_id = 1\n[[edges]]\nfile = 'e.csv'\n");
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(in_edges(dataset, "node__edge__node") ==
        std::vector<std::vector<std::uint64_t>>{{}, {2}, {0}});
  CHECK(dataset.ids("node").integer(0) == 1);
  CHECK(dataset.ids("node").integer(2) == 3);
  folder.write("e.csv", "s,t\n1,0\n");
  CHECK(as_text(expect_error([&] {
                  folder.run("[[nodes]]\nfirst_id = 1\n[[edges]]\nfile = 'e.csv'\n",
                             Overwrite::kReplace);
                }),
                folder) ==
        "data|ROOT/raw/e.csv:2: column 't': the id 0 is below the first, 1|dense ids run from "
        "first_id on; for others say ids = \"integer\"");
}

TEST_CASE("import: many small graphs, by membership or by sizes, their labels and splits") {
  ImportFolder folder;
  folder.write("n.csv", "graph,tag\n5,0\n5,0\n7,1\n");
  folder.write("sizes.csv", "n\n2\n0\n1\n");
  folder.write("g.csv", "label\n-1\n1\n-1\n");
  folder.write("e.csv", "s,t\n0,1\n1,0\n");
  folder.write("train.csv", "g\n7\n5\n");
  folder.write("test.csv", "g\n6\n");
  const std::string edges =
      "[[nodes]]\nlabels = { file = 'n.csv', columns = ['tag'] }\n[[edges]]\nfile = 'e.csv'\n";
  const std::string labels = "labels = { file = 'g.csv', kind = 'name' }\n";
  const std::string by_membership =
      "[graphs]\nfirst_id = 5\nmembership = { file = 'n.csv', column = 'graph' }\n" + labels;
  const std::string by_sizes = "[graphs]\nfirst_id = 5\nsizes.file = 'sizes.csv'\n" + labels;
  const std::string splits = "[[splits]]\nof = 'graphs'\ntrain = 'train.csv'\ntest = 'test.csv'\n";
  for (const std::string& graphs : {by_membership, by_sizes}) {
    folder.run(edges + splits + graphs, Overwrite::kReplace);
    check_sound(folder);
    const Dataset dataset = Dataset::open(folder.out());
    CHECK(as_vector<std::uint64_t>(dataset.graphs().offsets) ==
          std::vector<std::uint64_t>{0, 2, 2, 3});
    CHECK(as_vector<std::int32_t>(dataset.graphs().labels) == std::vector<std::int32_t>{0, 1, 0});
    CHECK(dataset.schema().graphs->labels->names == std::vector<std::string>{"-1", "1"});
    CHECK(as_vector<std::uint64_t>(dataset.graph_split("default").train) ==
          std::vector<std::uint64_t>{0, 2});
    CHECK(as_vector<std::uint64_t>(dataset.graph_split("default").test) ==
          std::vector<std::uint64_t>{1});
  }
  folder.write("n.csv", "graph,tag\n6,0\n5,0\n5,1\n");
  CHECK(as_text(expect_error([&] { folder.run(edges + by_membership, Overwrite::kReplace); }),
                folder) ==
        "data|ROOT/raw/n.csv:3: column 'graph': the graph 5 follows 6|nodes of a graph stand "
        "together, "
        "graphs in ascending order: sort the rows");
  folder.write("sizes.csv", "n\n2\n2\n0\n");
  CHECK(as_text(expect_error([&] { folder.run(edges + by_sizes, Overwrite::kReplace); }), folder) ==
        "data|ROOT/raw/sizes.csv: the graphs have 4 nodes, type 'node' has 3|every node is in "
        "exactly "
        "one graph");
}

TEST_CASE("import: an edge that joins two graphs is refused with its line") {
  ImportFolder folder;
  folder.write("sizes.csv", "n\n2\n1\n");
  folder.write("e.csv", "s,t\n0,1\n2,1\n");
  const Error error = expect_error(
      [&] { folder.run("[[edges]]\nfile = 'e.csv'\n[graphs]\nsizes.file = 'sizes.csv'\n"); });
  CHECK(error.message().find("the edge from 2 to 1 joins two graphs, 1 and 0") !=
        std::string::npos);
  CHECK(error.place().line == 3);
}

TEST_CASE("import: train, valid and test edges in files stand apart from the relations") {
  ImportFolder folder;
  folder.write("train.tsv", "h\tr\tt\na\tx\tb\nb\ty\tc\n");
  folder.write("valid.tsv", "h\tr\tt\nc\tx\td\n");  // d is in no training edge
  folder.write("test.tsv", "h\tr\tt\tok\na\ty\tc\t0\nd\tx\ta\t1\n");
  const std::string toml =
      "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'train.tsv'\ntype_column = 'r'\nsource_column "
      "= "
      "'h'\ntarget_column = 't'\n";
  const std::string split = "[[splits]]\nof = 'edges'\nvalid = 'valid.tsv'\n";
  folder.run(toml + split);
  check_sound(folder);
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(dataset.schema().nodes[0].count == 4);
  const EdgeSplit parts = dataset.edge_split("default");
  CHECK(parts.relation.empty());
  CHECK(parts.train.size(0) == 0);
  CHECK(as_vector<std::uint64_t>(parts.valid) == std::vector<std::uint64_t>{0, 0, 2, 3, 1});
  folder.run(
      toml + "types = 'labels'\n[[splits]]\nof = 'edges'\ntest = 'test.tsv'\nlabel_column = 'ok'\n",
      Overwrite::kReplace);
  check_sound(folder);
  CHECK(as_vector<std::uint64_t>(Dataset::open(folder.out()).edge_split("default").test) ==
        std::vector<std::uint64_t>{0, 1, 0, 2, 0, 0, 0, 3, 0, 1});
  folder.write("valid.tsv", "h\tr\tt\nc\tz\ta\n");
  CHECK(expect_error([&] { folder.run(toml + split, Overwrite::kReplace); }).message() ==
        "split 'default': no edge has the type 'z'");
}

TEST_CASE("import: edges are split by ratio, at random or by time, never a time apart") {
  const std::vector<Event> events = random_events(random_seed(), 4'000, 60);
  ImportFolder folder;
  folder.write("e.csv", csv_of(events));
  for (const char* order : {"random", "time"}) {
    CAPTURE(order);
    folder.run(fmt::format("{}undirected = true\nself_loops = 'drop'\n[[splits]]\nof = "
                           "'edges'\norder = '{}'\nratio = [0.7, 0.15, 0.15]\n",
                           kTimed,
                           order),
               Overwrite::kReplace);
    check_sound(folder);
    const Dataset dataset = Dataset::open(folder.out());
    const EdgeSplit split = dataset.edge_split("default");
    CHECK(split.relation == "node__edge__node");
    std::set<std::uint64_t> all;
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (const Array* part : {&split.train, &split.valid, &split.test}) {
      std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = latest;
      for (const std::uint64_t id : as_vector<std::uint64_t>(*part)) {
        CHECK(all.insert(id).second);
        CHECK(events[id].source != events[id].target);
        first = std::min(first, events[id].time);
        last = std::max(last, events[id].time);
      }
      if (std::string(order) == "time") CHECK(first > latest);
      latest = last;
    }
    const auto kept = static_cast<std::size_t>(std::count_if(
        events.begin(), events.end(), [](const Event& e) { return e.source != e.target; }));
    CHECK(all.size() == kept);
    const double share = static_cast<double>(split.train.size(0)) / static_cast<double>(kept);
    CHECK(share > .64);
    CHECK(share < .76);
  }
}

TEST_CASE("import: what keys of edges, graphs and splits cannot mean together") {
  struct Row {
    std::string toml, expected;
  };
  const std::string edges = "[[edges]]\nfile = 'e.csv'\n";
  for (const auto& [toml, expected] : std::vector<Row>{
           {edges + "undirected = true\nreverse = 'x'\n",
            "[[edges]] 'edge': reverse and undirected exclude each other"},
           {edges + "self_loops = 'add'\ntime_column = 't'\n",
            "[[edges]] 'edge': self_loops = \"add\" makes edges without times, weights, features "
            "and "
            "labels"},
           {edges + "type_column = 'k'\nfeatures.columns = ['w']\n",
            "[[edges]] 'edge': features and labels need one relation, and each type is one"},
           {edges + "type_column = 'k'\ntypes = 'labels'\nlabels.columns = ['w']\n",
            "[[edges]] 'edge': types = \"labels\" and labels exclude each other"},
           {edges + "labels = { columns = ['w'], id_column = 'x' }\n",
            "[[edges]] 'edge': labels of edges have no id_column"},
           {"[[nodes]]\nids = 'integer'\nfirst_id = 1\n" + edges,
            "[[nodes]] 'node': first_id is for dense ids"},
           {"[[nodes]]\nunknown_ids = 'create'\nfeatures.file = 'x.npy'\n" + edges,
            "[[nodes]] 'node': a node that unknown_ids = \"create\" makes has no row of features, "
            "times or labels"},
           {edges + "[[splits]]\nof = 'edges'\nrelation = 'x'\nratio = [0.5, 0.2, 0.1]\n",
            "[[splits]] 'default': relation = \"x\" is none of the [[edges]]"},
           {edges + "[[splits]]\nof = 'edges'\norder = 'time'\nratio = [0.5, 0.2, 0.1]\n",
            "[[splits]] 'default': order = \"time\", and the edges have no times"},
           {edges + "type_column = 'k'\n[[splits]]\nof = 'edges'\nratio = [0.5, 0.2, 0.1]\n",
            "[[splits]] 'default': ratio needs one relation, and each type is one"},
           {edges + "[[splits]]\nof = 'graphs'\nratio = [0.5, 0.2, 0.1]\n",
            "[graphs] says neither membership nor sizes"},
           {edges + "[graphs]\nmembership.file = 'a.csv'\nsizes.file = 'b.csv'\n",
            "[graphs] membership and sizes exclude each other"},
       }) {
    ImportFolder folder;
    const Error error = expect_error([&] { folder.run(toml); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message() == expected);
    CHECK(!error.hint().empty());
  }
}
