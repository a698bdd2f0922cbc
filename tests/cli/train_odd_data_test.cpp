// Odd data by the command line: exit codes, nulls in JSON, what stderr says, predictions.
#include "cli/train_support.h"
#include "support/own_graph.h"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace sluice::test;
using nlohmann::json;

namespace {

struct OddRun {
  TempDir dir;

  std::string path() const { return (dir / "r").string(); }

  // @param model of the config's [model] table
  Outcome run(const OwnGraph& graph, const std::string& model, std::vector<std::string> more = {}) {
    graph.import(dir, dir / "d");
    dir.write("run.toml",
              "[dataset]\npath = \"" + (dir / "d").string() + "\"\n[memory]\nhost = \"256MiB\"\n" +
                  "[sampler]\nfanout = [-1, -1]\n[model]\nhidden = 8\ndropout = 0.0\n" + model +
                  "[run]\ndir = \"" + path() +
                  "\"\n[train]\nepochs = 3\ncompute_threads = 1\n"
                  "optimizer = { type = \"adam\", lr = 0.01 }\n");
    std::vector<std::string> words{"run", (dir / "run.toml").string(), "--overwrite", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return train(words);
  }
};

json metrics_of(const Outcome& outcome) {
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out).at("metrics");
}

bool says(const Outcome& outcome, const std::string& words) {
  return outcome.err.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "parts without labels: an error for early stopping and evaluate, else nulls and warnings") {
  OddRun odd;
  OwnGraph graph;
  for (const std::size_t node : {6u, 7u, 8u, 9u, 10u, 11u}) graph.labels[node] = "";
  const Outcome stopping =
      odd.run(graph, "type = \"graphsage\"\n", {"--set", "train.early_stopping.patience=3"});
  CHECK(stopping.code == 2);
  CHECK(says(stopping, "none of the 3 valid nodes of split 'default' has a label (0 of 3)"));
  CHECK_FALSE(std::filesystem::exists(odd.path()));
  const Outcome plain = odd.run(graph, "type = \"graphsage\"\n");
  const json metrics = metrics_of(plain);
  CHECK(metrics.at("valid.accuracy").is_null());
  CHECK(metrics.at("test.accuracy").is_null());
  CHECK(metrics.at("train.loss") > 0);
  CHECK_FALSE(json::parse(plain.out).contains("best_epoch"));
  CHECK(says(plain, "3 test nodes"));
  CHECK(train({"evaluate", odd.path(), "--part", "valid"}).code == 2);
  CHECK(train({"evaluate", odd.path(), "--part", "train"}).code == 0);
  // Predictions need no labels.
  const std::string out = (odd.dir / "p.csv").string();
  CHECK(train({"predict", odd.path(), "--part", "valid", "--out", out}).code == 0);
}

TEST_CASE(
    "features that are not finite: nulls and warnings, empty predictions, no accuracy of NaN") {
  OddRun odd;
  OwnGraph graph;
  graph.features[8][0] = "inf";
  const Outcome outcome = odd.run(graph, "type = \"mlp\"\n");
  CHECK(metrics_of(outcome).at("valid.accuracy").is_null());
  CHECK(metrics_of(outcome).at("test.accuracy").is_number());
  CHECK(says(outcome, "outputs of 1 of 3 valid nodes are not finite, first of node 8"));
  CHECK_FALSE(says(outcome, "(best)"));
  const Outcome evaluated = train({"evaluate", odd.path(), "--part", "valid", "--json"});
  CHECK(metrics_of(evaluated).at("valid.accuracy").is_null());
  CHECK(says(evaluated, "not finite"));
  const std::string out = (odd.dir / "p.csv").string();
  const Outcome predicted =
      train({"predict", odd.path(), "--part", "all", "--out", out, "--json", "--quiet"});
  CHECK(json::parse(predicted.out).at("not_finite") == 1);
  CHECK(says(predicted, "outputs of 1 of 12 all nodes are not finite, first of node 8"));
  CHECK(read_all(out).find("\n8,\n") != std::string::npos);

  graph.features[0][0] = "nan";
  const Outcome ended = odd.run(graph, "type = \"graphsage\"\n");
  CHECK(ended.code == 3);
  CHECK(says(ended, "is not finite: features of node 0 are not"));
}

TEST_CASE("predictions carry class names beside class numbers, under the users' ids") {
  OddRun odd;
  OwnGraph graph;
  graph.kind = "name";
  graph.ids = {
      "zoë", "a,b", "say \"hi\"", "北京", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"};
  // Names that are numbers: class 0 is 7, class 1 is 10.
  for (std::string& label : graph.labels) label = label == "0" ? "10" : "7";
  const Outcome outcome =
      odd.run(graph,
              "type = \"mlp\"\n",
              {"--set", "train.epochs=100", "--set", "train.early_stopping.metric=valid.loss"});
  CHECK(metrics_of(outcome).at("test.accuracy") == 1.0);
  const std::string csv = (odd.dir / "p.csv").string(), npy = (odd.dir / "p.npy").string();
  REQUIRE(train({"predict", odd.path(), "--part", "all", "--out", csv}).code == 0);
  CHECK(read_all(csv) ==
        "id,class,class_name\nzoë,1,10\n\"a,b\",0,7\n\"say \"\"hi\"\"\",1,10\n北京,0,7\nn4,1,10\n"
        "n5,0,7\nn6,1,10\nn7,0,7\nn8,1,10\nn9,0,7\nn10,1,10\nn11,0,7\n");
  REQUIRE(train({"predict", odd.path(), "--part", "test", "--out", npy}).code == 0);
  const std::string bytes = read_all(npy);
  CHECK(bytes.find("[('id', '|S3'), ('class', '<i8'), ('class_name', '|S2')]") !=
        std::string::npos);
  CHECK(bytes.substr(bytes.size() - 3 * 13, 3) == std::string("n9\0", 3));
  CHECK(bytes.substr(bytes.size() - 2) == std::string("7\0", 2));
}

TEST_CASE("classes that are numbers of something are refused within the budget, and by name") {
  OddRun odd;
  OwnGraph graph;
  for (std::string& label : graph.labels) label = label == "0" ? "10" : "7650000";
  const Outcome outcome = odd.run(graph, "type = \"graphsage\"\n");
  CHECK(outcome.code == 4);
  CHECK(says(outcome, "7,650,001 outputs (classes)"));
  CHECK(says(outcome, "labels.kind = \"name\""));
  CHECK(says(outcome, "set [memory] host to at least \""));
  CHECK(outcome.peak_rss_kib < (256 + 300) * 1024);
  CHECK_FALSE(std::filesystem::exists(odd.path()));
}

TEST_CASE(
    "SLUICE_MAX_CPU_ISA caps the kernels and changes no bit; what it cannot mean is refused") {
  OddRun odd;
  const json plain = json::parse(odd.run(OwnGraph{}, "type = \"gat\"\n").out);
  ::setenv("SLUICE_MAX_CPU_ISA", "baseline", 1);
  const Outcome capped = odd.run(OwnGraph{}, "type = \"gat\"\n");
  const Outcome doctor = train({"doctor", "--dir", odd.dir.path(), "--json"});
  ::setenv("SLUICE_MAX_CPU_ISA", "avx1024", 1);
  const Outcome refused = train({"config", "keys"});
  const Outcome prep = run({tool("sluice-prep"), "--version"});
  ::unsetenv("SLUICE_MAX_CPU_ISA");
  CHECK(json::parse(capped.out).at("weights_xxh3") == plain.at("weights_xxh3"));
  CHECK(json::parse(doctor.out).at("processor").at("used") == "baseline");
  for (const Outcome& outcome : {refused, prep}) {
    CHECK(outcome.code == 2);
    CHECK(says(outcome, "SLUICE_MAX_CPU_ISA is 'avx1024'"));
  }
}
