// What a report sets beside a linear probe: groups of the tested nodes, floors, and what becomes of
// them where there is no room.
#include "train/probe_beside.h"

#include "probe/node_data.h"
#include "support/generated_dataset.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

/// DGI over the generated dataset.
RunOptions dgi_options(const TempDir& dir,
                       const std::string& name,
                       const std::vector<std::string>& sets = {}) {
  return options_of("dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" +
                        (dir / name).string() +
                        "\"\nseed = 3\nmemory.host = \"256MiB\"\n"
                        "model = { type = \"gcn\", hidden = 16, dropout = 0.0 }\n"
                        "task = { type = \"self_supervised\", width = 12, method = \"dgi\" }\n"
                        "sampler.fanout = [5, 5]\n"
                        "[train]\nepochs = 1\nbatch_size = 256\ncompute_threads = 1\n",
                    sets);
}

/// Tested nodes by distance from the nearest training node, by rounds over all edges.
std::array<std::uint64_t, 4> nodes_by_distance(const probe::PlainGraph& graph,
                                               const probe::NodeParts& parts) {
  std::vector<int> steps(graph.nodes(), -1);
  for (std::int64_t i = 0; i < parts.train.size(0); ++i)
    steps[static_cast<std::size_t>(parts.train[i].item<std::int64_t>())] = 0;
  for (int round = 0; round < 3; ++round)
    for (std::uint64_t node = 0; node < graph.nodes(); ++node)
      for (const std::uint32_t other : graph.neighbours(node))
        if (steps[node] == round && steps[other] < 0) steps[other] = round + 1;
  std::array<std::uint64_t, 4> count{};
  for (std::int64_t i = 0; i < parts.test.size(0); ++i) {
    const int distance = steps[static_cast<std::size_t>(parts.test[i].item<std::int64_t>())];
    REQUIRE(distance != 0);
    // Whoever three rounds did not reach is further away, or beyond reach: not told apart here.
    ++count[distance < 0 ? 3 : static_cast<std::size_t>(distance) - 1];
  }
  return count;
}

std::uint64_t nodes_of(const std::vector<probe::NodeGroup>& groups) {
  std::uint64_t nodes = 0;
  for (const probe::NodeGroup& group : groups) nodes += group.nodes;
  return nodes;
}

/// Over all groups: what the probe's accuracy must be.
double accuracy_of(const std::vector<probe::NodeGroup>& groups) {
  double right = 0;
  for (const probe::NodeGroup& group : groups)
    if (group.nodes != 0) right += static_cast<double>(group.nodes) * group.accuracy;
  return right / static_cast<double>(nodes_of(groups));
}

}  // namespace

TEST_CASE(
    "a self-supervised run reports groups of the tested nodes, and floors by the same probe") {
  const TempDir dir;
  Quiet quiet;
  generate_dataset(dir / "data");
  const RunReport report =
      run_training(dgi_options(dir, "run"), RunDirectory::Mode::kNew, quiet.context);
  REQUIRE(report.beside.has_value());
  REQUIRE(report.beside->groups.has_value());

  const Dataset dataset = Dataset::open((dir / "data").string());
  const std::string type = dataset.schema().nodes.front().name;
  const probe::NodeParts parts = probe::read_parts(dataset, type, "default");
  const probe::PlainGraph graph = probe::PlainGraph::of(dataset, type);
  const probe::NodeGroups& groups = *report.beside->groups;
  const auto tested = static_cast<std::uint64_t>(parts.test.size(0));
  const double accuracy = report.metrics.at("test.accuracy");
  CHECK(nodes_of(groups.by_degree) == tested);
  CHECK(accuracy_of(groups.by_degree) == doctest::Approx(accuracy));
  CHECK(accuracy_of(groups.by_distance) == doctest::Approx(accuracy));
  const auto expected = nodes_by_distance(graph, parts);
  REQUIRE(groups.by_distance.size() == 4);
  CHECK(groups.by_distance[0].nodes == expected[0]);
  CHECK(groups.by_distance[1].nodes == expected[1]);
  CHECK(groups.by_distance[2].nodes + groups.by_distance[3].nodes == expected[2] + expected[3]);

  REQUIRE(report.beside->floors.size() == 3);
  const std::vector<std::string> names{"features", "sgc", "random"};
  const std::vector<std::int64_t> columns{20, 20, 12};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const probe::RowsReport& floor = report.beside->floors[i];
    CHECK(floor.name == names[i]);
    CHECK(floor.columns == columns[i]);
    REQUIRE(floor.classify.has_value());
    CHECK_FALSE(floor.classify->test.deviation.has_value());
  }
  const probe::ProbeScores of_features =
      probe::linear_probe(probe::read_features(dataset, type),
                          probe::read_labels(dataset, type).values,
                          parts,
                          {},
                          RandomKey(3).with("probe"));
  CHECK(report.beside->floors[0].classify->test.mean == of_features.test);
  CHECK(report.beside->floors[0].classify->f1_macro.mean == of_features.f1_macro);

  const nlohmann::ordered_json json = to_json(report).at("probe");
  CHECK(json.at("groups").at("distance")[0].at("nodes") == expected[0]);
  CHECK(json.at("floors")[0].at("test.accuracy") == of_features.test);
  CHECK(json.at("floors")[2].at("groups").at("degree").size() == groups.by_degree.size());
  CHECK(to_text(report).find("sgc: test.accuracy") != std::string::npos);

  // Measured again, it is the same; of validation nodes there is none.
  const std::string path = (dir / "run").string();
  const RunReport again =
      evaluate_run(path, {}, {Part::kTest, CheckpointKind::kBest}, quiet.context);
  CHECK(to_json(again).at("probe").dump() == json.dump());
  const RunReport valid =
      evaluate_run(path, {}, {Part::kValid, CheckpointKind::kBest}, quiet.context);
  CHECK_FALSE(valid.beside.has_value());
  CHECK_FALSE(to_json(valid).contains("probe"));
}

TEST_CASE("floors are left out where they are not wanted, and change nothing else") {
  const TempDir dir;
  Quiet quiet;
  generate_dataset(dir / "data");
  const auto train = [&](const std::string& name, const std::vector<std::string>& sets) {
    return run_training(dgi_options(dir, name, sets), RunDirectory::Mode::kNew, quiet.context);
  };
  const RunReport with = train("with", {});
  const RunReport without = train("without", {"task.floors=none"});
  CHECK(without.weights_xxh3 == with.weights_xxh3);
  for (const char* name : {"test.accuracy", "test.f1_macro", "test.nmi", "valid.accuracy"})
    CHECK(without.metrics.at(name) == with.metrics.at(name));
  REQUIRE(without.beside.has_value());
  CHECK(without.beside->groups.has_value());
  CHECK(without.beside->floors.empty());
  REQUIRE(with.beside.has_value());
  // As text: groups without nodes have no figure, which equals nothing.
  CHECK(to_json(*without.beside->groups).dump() == to_json(*with.beside->groups).dump());
}

TEST_CASE("where the budget has no room floors go first, then groups, and the log says so") {
  const TempDir dir;
  Heard heard;
  generate_dataset(dir / "data");
  const RunOptions options = dgi_options(dir, "run");
  const PlannedRun run = plan_run(options, {}, *heard.log);
  Parts& parts = *run.parts;
  ProbeBeside wanted;
  wanted.probed.trained = torch::tensor({0, 1}, torch::kInt64);
  wanted.probed.tested = torch::tensor({2, 3, 4}, torch::kInt64);
  wanted.probed.right = torch::tensor({1, 0, 1}, torch::kInt64).to(torch::kBool);
  wanted.floors = probe::Floors::kBeside;

  // Any file is read by a MiB, floors by the read buffers of a feature store, 16 MiB.
  probe::ProbeRequest graph_alone, with_floors;
  with_floors.floors = probe::Floors::kBeside;
  with_floors.random_width = parts.task->output_width();
  const std::uint64_t least = probe::beside_bytes(graph_alone, parts.dataset);
  const std::uint64_t room = least + (256 << 10);
  const std::uint64_t more = probe::beside_bytes(with_floors, parts.dataset) + (512 << 10);
  CHECK(more > 16 << 20);
  // Beside the graph a file's piece, or each node's distance and 24 bytes a tested one.
  const GraphSchema& schema = parts.dataset.schema();
  const std::uint64_t nodes = schema.nodes.front().count;
  const std::uint64_t of_graph = 8 * (nodes + 1) + 8 * schema.relations.front().edges;
  CHECK(least - of_graph >= 8 * nodes + std::max(4 * nodes, 24 * schema.splits.front().test));
  CHECK(least - of_graph > 1 << 20);
  {
    const auto held =
        parts.ledger
            ->charge("what a test holds", parts.ledger->limit() - parts.ledger->used() - more)
            .or_throw();
    const auto beside = measure_beside(parts, wanted, *heard.log);
    REQUIRE(beside.has_value());
    CHECK(beside->floors.size() == 3);
    CHECK_FALSE(heard.said("are not measured"));
  }
  {
    const auto held =
        parts.ledger
            ->charge("what a test holds", parts.ledger->limit() - parts.ledger->used() - room)
            .or_throw();
    const auto beside = measure_beside(parts, wanted, *heard.log);
    REQUIRE(beside.has_value());
    REQUIRE(beside->groups.has_value());
    CHECK(nodes_of(beside->groups->by_degree) == 3);
    CHECK(accuracy_of(beside->groups->by_degree) == doctest::Approx(2.0 / 3));
    CHECK(beside->floors.empty());
    CHECK(heard.said("floors are not measured"));
    CHECK_FALSE(heard.said("groups of nodes are not measured"));
  }
  const auto held =
      parts.ledger
          ->charge("what a test holds", parts.ledger->limit() - parts.ledger->used() - (least - 1))
          .or_throw();
  CHECK_FALSE(measure_beside(parts, wanted, *heard.log).has_value());
  CHECK(heard.said("groups of nodes are not measured"));
}
