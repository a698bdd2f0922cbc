// Generated graphs of many relations: what each relation says of its items' classes, and what all
// of them together do not.
#include "prep/check/verify.h"
#include "prep/generate/hetero.h"
#include "storage/format/manifest.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;

namespace {

HeteroGenerator::Options planted(std::int64_t relations, std::int64_t kinds) {
  HeteroGenerator::Options options;
  options.planted.relations = relations;
  options.planted.kinds = kinds;
  options.planted.items = 4'000;
  options.planted.sources = 1'500;
  options.planted.edges = 80'003;
  options.node_options.classes = 4;
  options.node_options.features = 8;
  return options;
}

void make_planted(const std::filesystem::path& target,
                  const HeteroGenerator::Options& options,
                  int threads = 2,
                  std::uint64_t limit = 1 << 30) {
  MemoryLedger ledger(limit);
  ThreadArena arena(threads);
  const std::shared_ptr<Logger> log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  DatasetWriter writer(target, Overwrite::kRefuse, &ledger);
  HeteroGenerator(options).generate(writer, context);
  writer.commit("test");
  const VerifyReport report = verify_dataset(target.string(), context);
  CHECK(report.problems == std::vector<std::string>());
  CHECK(ledger.used() == 0);
}

/// By how many classes the source lies behind the target: the share of a relation's edges.
std::vector<double> shares_of(const Dataset& dataset, const std::string& relation) {
  const auto topology = dataset.topology(relation);
  const CscView& view = *topology->resident();
  std::vector<double> shares(4, 0.0);
  for (std::uint64_t item = 0; item < topology->num_targets(); ++item)
    for (std::uint64_t at = view.offsets[item]; at < view.offsets[item + 1]; ++at)
      ++shares[(view.neighbour(at) % 4 + 4 - item % 4) % 4];
  for (double& share : shares) share /= static_cast<double>(topology->num_edges());
  return shares;
}

}  // namespace

TEST_CASE("planted relations: each shifts the class, and those of a kind shift it evenly") {
  const TempDir dir;
  make_planted(dir / "x", planted(8, 2));
  const Dataset dataset = Dataset::open((dir / "x").string());
  const GraphSchema& schema = dataset.schema();
  CHECK(schema.nodes.size() == 3);
  CHECK(schema.relations.size() == 8);
  CHECK(schema.total_edges() == 80'003);
  CHECK(schema.splits.at(0).node_type == "item");
  for (std::uint64_t kind = 0; kind < 2; ++kind) {
    std::vector<double> all(4, 0.0);
    for (std::uint64_t k = 0; k < 4; ++k) {
      const std::uint64_t r = kind + 2 * k;
      CAPTURE(r);
      const std::string key = "kind" + std::to_string(kind) + "__r" + std::to_string(r) + "__item";
      CHECK(schema.relation(key)->edges == (r < 3 ? 10'001 : 10'000));
      const std::vector<double> shares = shares_of(dataset, key);
      // 0.7 are of that class, and a quarter of the others by chance; ten deviations beside it.
      for (std::uint64_t shift = 0; shift < 4; ++shift) {
        CHECK(std::abs(shares[shift] - (shift == k ? 0.775 : 0.075)) < 0.045);
        all[shift] += shares[shift] / 4;
      }
    }
    for (const double share : all) CHECK(std::abs(share - 0.25) < 0.025);
  }
}

TEST_CASE("planted relations: the same bytes for any threads and budget, by the seed") {
  const TempDir dir;
  HeteroGenerator::Options options = planted(5, 3);
  make_planted(dir / "roomy", options, 1);
  make_planted(dir / "narrow", options, 4, 40 << 20);
  options.seed = 2;
  make_planted(dir / "other", options);
  const auto text = [&](const char* name) {
    return Manifest::load(dir / name).or_throw().to_text();
  };
  CHECK(text("roomy") == text("narrow"));
  CHECK(text("roomy") != text("other"));
}

TEST_CASE("planted relations: 1 to 200 of them, fewer than kinds or more") {
  for (const std::int64_t relations : {1, 4, 40, 200}) {
    CAPTURE(relations);
    const TempDir dir;
    HeteroGenerator::Options options = planted(relations, 3);
    options.planted.items = 300;
    options.planted.sources = 50;
    options.planted.edges = 1'000;
    make_planted(dir / "x", options);
    const GraphSchema schema = Manifest::load(dir / "x").or_throw().schema;
    CHECK(schema.relations.size() == static_cast<std::size_t>(relations));
    CHECK(schema.nodes.size() == (relations == 1 ? 2 : 4));
    CHECK(schema.total_edges() == 1'000);
  }
}

TEST_CASE("planted relations: kinds have widths and dtypes of their own, in turn") {
  const TempDir dir;
  HeteroGenerator::Options options = planted(8, 4);
  options.planted.widths = {3, 0, 5};
  options.planted.dtypes = {"f32", "f16"};
  make_planted(dir / "x", options);
  const GraphSchema schema = Manifest::load(dir / "x").or_throw().schema;
  const auto table = [&](const char* type) { return schema.node_type(type)->features.at(0); };
  CHECK(table("item").dim == 8);
  CHECK(table("item").dtype == DType::kF32);
  CHECK(table("kind0").dim == 3);
  CHECK(table("kind0").dtype == DType::kF32);
  CHECK(schema.node_type("kind1")->features.empty());
  CHECK(table("kind2").dim == 5);
  CHECK(table("kind2").dtype == DType::kF32);
  CHECK(table("kind3").dim == 3);
  CHECK(table("kind3").dtype == DType::kF16);

  options.planted.dtypes = {"f64"};
  const Error unknown = expect_error([&] { make_planted(dir / "y", options); });
  CHECK(unknown.code() == ErrorCode::kUsage);
  CHECK(std::string(unknown.what()).find("dtypes: no dtype 'f64'") != std::string::npos);
  CHECK(unknown.hint().find("f16") != std::string::npos);
}

TEST_CASE("planted relations: what lists say that says nothing new changes no byte") {
  const TempDir dir;
  HeteroGenerator::Options options = planted(5, 3);
  make_planted(dir / "plain", options);
  options.planted.widths = {8};
  options.planted.dtypes = {"auto", "auto"};
  make_planted(dir / "lists", options);
  CHECK(Manifest::load(dir / "plain").or_throw().to_text() ==
        Manifest::load(dir / "lists").or_throw().to_text());
}

TEST_CASE("planted relations: with skew few sources have most edges, and classes are as before") {
  const TempDir dir;
  HeteroGenerator::Options options = planted(2, 1);
  const auto share_of_tenth = [&](const char* name) {
    const Dataset dataset = Dataset::open((dir / name).string());
    const auto topology = dataset.topology("kind0__r0__item");
    const CscView& view = *topology->resident();
    std::vector<double> degrees(1'500, 0.0);
    for (std::uint64_t at = 0; at < topology->num_edges(); ++at) ++degrees[view.neighbour(at)];
    std::sort(degrees.rbegin(), degrees.rend());
    double most = 0;
    for (std::size_t i = 0; i < 150; ++i) most += degrees[i];
    return most / static_cast<double>(topology->num_edges());
  };
  make_planted(dir / "even", options);
  options.planted.skew = 3;
  make_planted(dir / "skewed", options);
  // The first tenth of u^3 is drawn with a chance of 0.1^(1/3) = 0.464.
  CHECK(share_of_tenth("even") < 0.15);
  CHECK(std::abs(share_of_tenth("skewed") - 0.464) < 0.03);
  const std::vector<double> shares =
      shares_of(Dataset::open((dir / "skewed").string()), "kind0__r1__item");
  CHECK(std::abs(shares[2] - 0.775) < 0.045);
}
