// Links between nodes of two types of several, by the command line: learned, the same from memory,
// disk and a device, and not shown by the relation that holds them the other way round.
#include "cli/fake_library.h"
#include "cli/typed_sandbox.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

// Links of a relation that is drawn into parts, asked about in both evaluations among 20 others.
std::vector<std::string> links_of(const std::string& relation,
                                  const std::vector<std::string>& more) {
  return with_sets({"task.type=link_prediction",
                    "task.relation=" + relation,
                    "task.edge_split=[0.8, 0.05, 0.15]",
                    "task.eval_negatives=20",
                    "task.width=16",
                    "model.dropout=0.0",
                    "train.batch_size=64",
                    "train.optimizer.lr=0.01"},
                   more);
}

const std::vector<std::string> kLinksOnDisk{"storage.features=disk",
                                            "storage.topology=disk",
                                            "storage.embeddings=disk",
                                            "train.data_threads=4"};

// "SOURCE,TARGET" of each line below the first.
std::multiset<std::string> ends_in(const std::filesystem::path& file) {
  std::istringstream in(read_all(file));
  std::multiset<std::string> ends;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) ends.insert(line.substr(0, line.find(',', line.find(',') + 1)));
  return ends;
}

}  // namespace

TEST_CASE("links from authors to papers are learned by models over all types") {
  const TypedSandbox box;
  for (const char* model : {"model.type=rgcn", "model.type=hgt", "model.type=graphsage"}) {
    CAPTURE(model);
    const json report = box.report(
        links_of("writes", {model, "task.reverse=written-by", "train.epochs=6", "eval.every=6"}));
    const json& metrics = report.at("metrics");
    // Nine of ten links stay within one of four classes; of other pairs a quarter do.
    CHECK(metrics.at("test.auc") > 0.6);
    CHECK(metrics.at("test.mrr") > 0.2);  // of 21 at random: .17
  }
}

TEST_CASE("links between types: the same bits from memory, from disk and through a fake device") {
  const TypedSandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  // Venues have no features, and nothing leads to them: they are what they learn.
  for (const std::vector<std::string>& asked :
       {links_of("writes", {"task.reverse=written-by"}), links_of("hosts", {})}) {
    CAPTURE(asked[1]);
    const std::vector<std::string> sets = with_venue_rows(asked);
    const json expected = box.report(with_sets(sets, {"train.device=cpu"}));
    CHECK(std::isfinite(expected.at("metrics").at("test.auc").get<double>()));
    const json disk = box.report(with_sets(with_sets(sets, {"train.device=cpu"}), kLinksOnDisk));
    CHECK(disk.at("storage").at("embeddings") == "disk");
    CHECK(results(disk) == results(expected));
    const json device = box.report(with_sets(sets, {"train.device=cuda"}));
    CHECK(device.at("device").at("kind") == "fake");
    CHECK(results(device) == results(expected));
  }
}

TEST_CASE("links between types: the relation that holds them the other way round is to be named") {
  const TypedSandbox box;
  const Outcome refused = run(box.command(links_of("writes", {})));
  CHECK(refused.code == 2);
  CHECK((refused.out + refused.err)
            .find("relation 'paper__written-by__author' holds the edges of "
                  "'author__writes__paper' the other way round") != std::string::npos);
  // Reviews go the same way between the same types, and are other edges.
  const json report = box.report(links_of("reviews", {"train.epochs=1"}));
  CHECK(report.at("metrics").contains("test.auc"));
}

TEST_CASE("links between types are predicted under the ids of both") {
  const TypedSandbox box;
  (void)box.report(links_of("writes", {"task.reverse=written-by", "train.epochs=1"}));
  const std::filesystem::path out = box.folder() / "links.csv";
  const Outcome predicted = train({"predict", box.dir().string(), "--out", out.string()});
  REQUIRE_MESSAGE(predicted.code == 0, predicted.err);
  CHECK(read_all(out).starts_with("source,target,probability\n"));
  const std::multiset<std::string> asked = ends_in(out), all = ends_in(box.folder() / "writes.csv");
  CHECK(asked.size() > 200);  // 15 of 100
  CHECK(asked.size() < 400);
  std::size_t others = 0;
  for (const std::string& ends : asked) others += all.contains(ends) ? 0u : 1u;
  CHECK(others == 0);
}
