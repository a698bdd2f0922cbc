// sluice-train probe and sluice-prep hold-out as their users meet them: what is printed, floors,
// links that were held out, and errors with their exit codes.
#include "cli/train_support.h"
#include "support/npy_file.h"

#include <sluice/dataset.h>
#include <sluice/random.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;

namespace {

constexpr std::uint64_t kProbeNodes = 2000;

std::string npy_rows(const std::vector<float>& values, std::size_t rows) {
  return npy("<f4",
             "(" + std::to_string(rows) + ", " + std::to_string(values.size() / rows) + ")",
             bytes_of_values(values));
}

// A row a node: its class, one-hot.
std::vector<float> class_rows(const std::filesystem::path& path) {
  const Dataset dataset = Dataset::open(path.string());
  const Array labels = dataset.labels(dataset.schema().nodes.front().name);
  std::vector<float> rows(kProbeNodes * 4);
  for (std::size_t node = 0; node < kProbeNodes; ++node) {
    const std::int32_t label = labels.as<std::int32_t>()[node];
    if (label >= 0) rows[node * 4 + static_cast<std::size_t>(label)] = 1;
  }
  return rows;
}

std::vector<float> random_rows(std::size_t columns) {
  std::vector<float> rows(kProbeNodes * columns);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>(RandomKey(5).uniform(i) - 0.5);
  return rows;
}

json probed(const std::vector<std::string>& words) {
  std::vector<std::string> all{"probe"};
  all.insert(all.end(), words.begin(), words.end());
  all.push_back("--json");
  const Outcome outcome = train(all);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

double mean_of(const json& figure) {
  return figure.at("mean").get<double>();
}

}  // namespace

TEST_CASE("probe: rows that are the classes are perfect, floors stand beside, groups add up") {
  const TempDir dir;
  const std::string data = dir / "data";
  generate_dataset(data);
  const std::string rows = dir.write("rows.npy", npy_rows(class_rows(data), kProbeNodes));
  const std::vector<std::string> words{
      rows, "--dataset", data, "--tasks", "classify,cluster", "--floors", "--seeds", "2"};
  const json report = probed(words);
  CHECK(report.at("nodes") == kProbeNodes);
  CHECK(report.at("seeds") == 2);
  CHECK(report.at("split") == "default");
  const json& results = report.at("results");
  REQUIRE(results.size() == 4);
  const json& own = results[0];
  CHECK(own.at("rows") == "embeddings");
  CHECK(own.at("columns") == 4);
  CHECK(mean_of(own.at("classify").at("test")) == 1);
  CHECK(own.at("classify").at("test").at("deviation") == 0);
  CHECK(mean_of(own.at("classify").at("f1_macro")) == 1);
  CHECK(mean_of(own.at("cluster").at("nmi")) == doctest::Approx(1));
  CHECK(mean_of(own.at("cluster").at("ari")) == doctest::Approx(1));
  const std::vector<std::string> names{"features", "sgc", "random"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    CHECK(results[i + 1].at("rows") == names[i]);
    CHECK(mean_of(results[i + 1].at("classify").at("test")) > 0.3);  // of four classes
  }
  // Each tested node is in one group of either kind.
  for (const char* kind : {"degree", "distance"}) {
    CAPTURE(std::string(kind));
    std::uint64_t nodes = 0;
    double right = 0;
    for (const json& group : results[1].at("classify").at("groups").at(kind)) {
      nodes += group.at("nodes").get<std::uint64_t>();
      if (!group.at("accuracy").is_null())
        right += group.at("nodes").get<double>() * group.at("accuracy").get<double>();
    }
    CHECK(nodes >= 100);
    CHECK(right / static_cast<double>(nodes) ==
          doctest::Approx(mean_of(results[1].at("classify").at("test"))));
  }

  std::vector<std::string> threads = words;
  threads.insert(threads.end(), {"--threads", "3"});
  CHECK(probed(threads) == report);
  const Outcome text = train({"probe", rows, "--dataset", data});
  CHECK(text.code == 0);
  CHECK(text.out.find("accuracy, test") != std::string::npos);
  // Of one seed there is no deviation.
  CHECK(text.out.find("+-") == std::string::npos);
  CHECK(text.out.find("one seed") != std::string::npos);
  const json once = probed({rows, "--dataset", data});
  CHECK_FALSE(once.at("results")[0].at("classify").at("test").contains("deviation"));
  const Outcome twice = train({"probe", rows, "--dataset", data, "--seeds", "2"});
  CHECK(twice.out.find("1.0000 +- 0.0000") != std::string::npos);
}

TEST_CASE("probe reads CSV by ids; links are held out before, and random rows are near chance") {
  const TempDir dir;
  const std::string data = dir / "data", apart = dir / "apart";
  generate_dataset(data, {{"--edges", "20000"}, {"--homophily", "0.9"}});
  const Outcome made =
      run({tool("sluice-prep"), "hold-out", data, "--out", apart, "--test", "0.2", "--json"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const json held_out = json::parse(made.out);
  CHECK(held_out.at("split") == "links");
  CHECK(held_out.at("pairs").at("test").get<int>() > 2000);
  CHECK(run({tool("sluice-prep"), "verify", apart}).code == 0);

  const std::vector<float> classes = class_rows(data);
  std::string csv = "id,e0,e1,e2,e3\n";
  const Dataset dataset = Dataset::open(apart);
  const ExternalIds ids = dataset.ids(dataset.schema().nodes.front().name);
  for (std::size_t node = kProbeNodes; node-- > 0;) {
    csv += ids.text(node);
    for (std::size_t c = 0; c < 4; ++c) csv += classes[node * 4 + c] > 0 ? ",1" : ",0";
    csv += "\n";
  }
  const auto links = [&](const std::string& rows) {
    return probed({rows, "--dataset", apart, "--tasks", "links", "--epochs", "50"})
        .at("results")
        .at(0)
        .at("links");
  };
  const json with = links(dir.write("rows.csv", csv));
  const json without = links(dir.write("noise.npy", npy_rows(random_rows(16), kProbeNodes)));
  for (const char* score : {"dot", "cosine", "hadamard"}) {
    CAPTURE(std::string(score));
    CHECK(mean_of(with.at(score).at("auc")) > 0.7);
    CHECK(std::abs(mean_of(without.at(score).at("auc")) - 0.5) < 0.05);
  }

  // A model of links trains on the same dataset and is tested by the same pairs.
  const std::string config =
      dir.write("links.toml",
                "dataset.path = \"" + apart + "\"\ndataset.split = \"links\"\nrun.dir = \"" +
                    (dir / "run").string() +
                    "\"\nmemory.host = \"128MiB\"\nmodel = { type = \"graphsage\", hidden = 8 }\n"
                    "sampler.fanout = [4, 4]\n[task]\ntype = \"link_prediction\"\nwidth = 8\n"
                    "[train]\nepochs = 1\ncompute_threads = 1\n");
  const Outcome trained = train({"run", config, "--json"});
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  CHECK(std::isfinite(json::parse(trained.out).at("metrics").at("test.auc").get<double>()));
}

TEST_CASE("probe's errors say what to do, with their exit codes") {
  const TempDir dir;
  const std::string data = dir / "data";
  generate_dataset(data);
  const std::string rows = dir.write("rows.npy", npy_rows(random_rows(3), kProbeNodes));
  const std::string few = dir.write("few.npy", npy_rows(std::vector<float>(30), 10));
  const std::string strange = dir.write("strange.txt", "1,2\n");
  struct Case {
    std::vector<std::string> words;
    int code;
    const char* says;
  };
  const std::vector<Case> cases{
      {{few, "--dataset", data}, 3, "10 rows, and 2000 nodes"},
      {{strange, "--dataset", data}, 2, ".npy, .csv and .safetensors"},
      {{rows, "--dataset", data, "--split", "defualt"}, 2, "default"},
      {{rows, "--dataset", data, "--type", "person"}, 2, "no node type 'person'"},
      {{rows, "--dataset", data, "--tasks", "links"}, 2, "sluice-prep hold-out"},
      {{rows, "--dataset", data, "--tasks", "regress"}, 2, "regress"},
      {{rows, "--dataset", data, "--memory", "20KiB"}, 4, "memory"},
      {{rows}, 2, "--dataset"},
      {{dir / "none.npy", "--dataset", data}, 3, "no such file"},
  };
  for (const Case& each : cases) {
    CAPTURE(std::string(each.says));
    std::vector<std::string> words{"probe"};
    words.insert(words.end(), each.words.begin(), each.words.end());
    const Outcome outcome = train(words);
    CHECK(outcome.code == each.code);
    CHECK_MESSAGE(outcome.err.find(each.says) != std::string::npos, outcome.err);
  }
}
