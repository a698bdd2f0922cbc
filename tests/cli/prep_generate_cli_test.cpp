// sluice-prep generate and inspect, and how wide features are stored, as users meet it.
#include "cli/prep_tool.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

using namespace sluice;
using nlohmann::json;
using sluice::test::Outcome;
using sluice::test::prep;
using sluice::test::TempDir;

TEST_CASE("generate takes lists with commas, and as TOML has them") {
  const TempDir dir;
  const auto made = [&](const std::string& name, const char* widths, const char* dtypes) {
    const std::string data = dir / name;
    const Outcome outcome = prep({"generate",
                                  "hetero",
                                  "--relations",
                                  "2",
                                  "--items",
                                  "200",
                                  "--edges",
                                  "400",
                                  "--out",
                                  data,
                                  "--sources",
                                  "100",
                                  "--widths",
                                  widths,
                                  "--dtypes",
                                  dtypes});
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return json::parse(prep({"inspect", data, "--json"}).out).at("node_types");
  };
  const json types = made("commas", "6,12", "f32,f16");
  CHECK(types == made("toml", "[6, 12]", "[\"f32\", \"f16\"]"));
  CHECK(types[1].at("features")[0].at("dim") == 6);
  CHECK(types[2].at("features")[0].at("dim") == 12);
  CHECK(types[2].at("features")[0].at("dtype") == "f16");
  const Outcome text = prep({"generate", "hetero", "--widths", "6,wide", "--out", dir / "x"});
  CHECK(text.code == 2);
  CHECK(text.err.find("widths") != std::string::npos);
}

TEST_CASE("generate, inspect and verify agree, in text and in JSON") {
  const TempDir dir;
  const std::string x = dir / "x";
  const Outcome made = prep({"generate",
                             "sbm",
                             "--nodes",
                             "2000",
                             "--edges",
                             "10000",
                             "--features",
                             "20",
                             "--out",
                             x,
                             "--json"});
  REQUIRE(made.code == 0);
  const json generated = json::parse(made.out);
  CHECK(generated.at("nodes") == 2000);
  CHECK(generated.at("edges") == 10000);
  for (const char* key : {"budget", "peak_rss", "peak_anonymous"})
    CHECK(generated.at("memory").at(key) > 0);
  CHECK(generated.at("seconds") > 0);

  const json seen = json::parse(prep({"inspect", x, "--json"}).out);
  CHECK(seen.at("nodes") == 2000);
  CHECK(seen.at("node_types")[0].at("features")[0].at("dim") == 20);
  CHECK(seen.at("relations")[0].at("mean_in_degree") == 5.0);
  CHECK(seen.at("relations")[0].at("appended") == 0);
  CHECK(seen.at("created_by") ==
        "sluice-prep 0.1.0 generate sbm --edges 10000 --features 20 --nodes 2000");
  CHECK(prep({"inspect", x}).out.find("2,000 nodes, 10,000 edges") == 0);
  CHECK(json::parse(prep({"verify", x, "--json"}).out).at("sound") == true);

  CHECK(prep({"generate", "sbm", "--out", x}).code == 2);
  CHECK(prep({"generate", "sbm", "--nodes", "100", "--edges", "50", "--out", x, "--overwrite"})
            .code == 0);
  CHECK(json::parse(prep({"inspect", x, "--json"}).out).at("nodes") == 100);
}

TEST_CASE("--dtype divides the bytes of features, and inspect and verify say by how much") {
  const TempDir dir;
  struct Row {
    const char* dtype;
    int row_bytes, rows_per_page;
    std::uint64_t bytes;
  };
  for (const Row& row : {Row{"f32", 512, 8, 250 * 4096},
                         Row{"f16", 256, 16, 125 * 4096},
                         Row{"bf16", 256, 16, 125 * 4096},
                         Row{"int8", 132, 31, 65 * 4096}}) {
    CAPTURE(row.dtype);
    const std::string x = dir / row.dtype;
    const Outcome made = prep({"generate",
                               "sbm",
                               "--nodes",
                               "2000",
                               "--edges",
                               "9000",
                               "--features",
                               "128",
                               "--dtype",
                               row.dtype,
                               "--out",
                               x});
    REQUIRE(made.code == 0);
    const auto check = [&](const json& table) {
      CHECK(table.at("dtype") == row.dtype);
      CHECK(table.at("row_bytes") == row.row_bytes);
      CHECK(table.at("rows_per_page") == row.rows_per_page);
      CHECK(table.at("bytes") == row.bytes);
    };
    const json seen = json::parse(prep({"inspect", x, "--json"}).out);
    check(seen.at("node_types")[0].at("features")[0]);
    CHECK(seen.at("created_by").get<std::string>().find(std::string("--dtype ") + row.dtype) !=
          std::string::npos);
    const json sound = json::parse(prep({"verify", x, "--json"}).out);
    check(sound.at("features")[0]);
    CHECK(sound.at("features")[0].at("node_type") == "node");
    const std::string said =
        std::string("128 x ") + row.dtype + ", " + std::to_string(row.row_bytes) + " B a row\n";
    CHECK(prep({"verify", x}).out.find("  features of 'node': " + said) != std::string::npos);
  }
  const Outcome unknown = prep({"generate", "sbm", "--dtype", "int9", "--out", dir / "y"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("int8") != std::string::npos);
  const Outcome stochastic =
      prep({"generate", "sbm", "--rounding", "stochastic", "--out", dir / "y"});
  CHECK(stochastic.code == 2);
  CHECK(stochastic.err ==
        "error: generate: rounding = \"stochastic\" is for dtype = \"int8\"\n  hint: leave "
        "rounding out: floats round to nearest even\n");
}

TEST_CASE("import --dtype and --rounding stand for the keys of graph.toml") {
  const TempDir dir;
  dir.write("e.csv", "src,dst\n0,1\n1,2\n");
  dir.write("x.csv", "a,b,c\n1,0.3,-0.7\n0.2,0.1,0.7\n5,3,1.1\n");
  const std::string edges = "[[edges]]\nfile = \"e.csv\"\n";
  const std::string nodes = "[[nodes]]\nfeatures = { file = \"x.csv\"";
  dir.write("plain.toml", nodes + " }\n" + edges);
  dir.write("keys.toml", nodes + ", dtype = \"int8\", rounding = \"nearest\" }\n" + edges);
  dir.write("none.toml", edges);
  const auto import = [&](const std::string& config, std::vector<std::string> more) {
    std::vector<std::string> all{
        "import", "--config", dir / config, "--out", dir / "x", "--overwrite"};
    all.insert(all.end(), more.begin(), more.end());
    return prep(all);
  };
  const auto features = [&] { return test::read_all(dir / "x/nodes/node/features.bin"); };
  REQUIRE(import("keys.toml", {}).code == 0);
  const std::string by_keys = features();
  REQUIRE(import("plain.toml", {"--dtype", "int8", "--rounding", "nearest"}).code == 0);
  CHECK((features() == by_keys));
  REQUIRE(import("keys.toml", {"--rounding", "stochastic"}).code == 0);
  CHECK((features() != by_keys));
  REQUIRE(import("keys.toml", {"--dtype", "bf16"}).code == 0);
  const json seen = json::parse(prep({"inspect", dir / "x", "--json"}).out);
  CHECK(seen.at("node_types")[0].at("features")[0].at("dtype") == "bf16");
  CHECK(seen.at("created_by") ==
        "sluice-prep 0.1.0 import --config " + (dir / "keys.toml").string() + " --dtype bf16");
  CHECK(import("plain.toml", {"--dtype", "half"}).code == 2);
  const Outcome none = import("none.toml", {"--dtype", "int8"});
  CHECK(none.code == 2);
  CHECK(none.err ==
        "error: --dtype and --rounding are of features, and no node type has any\n  hint: leave "
        "them out, or name a file: [[nodes]] features.file = ...\n");
}
