// A generated knowledge graph: its rule, its skew, its parts.
#include "prep/check/verify.h"
#include "prep/generate/kg.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;

namespace {

using Triple = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // head, relation, tail

void make_kg(const std::filesystem::path& target,
             const KgGenerator::Options& options,
             int threads = 2,
             std::uint64_t limit = 1 << 30) {
  MemoryLedger ledger(limit);
  ThreadArena arena(threads);
  const std::shared_ptr<Logger> log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  DatasetWriter writer(target, Overwrite::kRefuse, &ledger);
  KgGenerator(options).generate(writer, context);
  writer.commit("test");
  const VerifyReport report = verify_dataset(target.string(), context);
  CHECK(report.problems == std::vector<std::string>());
  CHECK(ledger.used() == 0);
}

KgGenerator::Options small_kg() {
  KgGenerator::Options options;
  options.entities = 3'000;
  options.relations = 8;
  options.edges = 200'003;
  options.clusters = 60;
  options.noise = 0.2;
  options.valid = 0.05;
  options.test = 0.1;
  return options;
}

std::vector<Triple> training(const Dataset& dataset) {
  const auto topology = dataset.topology("entity__triple__entity");
  const CscView& view = *topology->resident();
  const Array types_array = dataset.edge_labels("entity__triple__entity");
  const auto types = types_array.as<std::int32_t>();
  std::vector<Triple> all;
  for (std::uint64_t node = 0; node < topology->num_targets(); ++node) {
    for (std::uint64_t at = view.offsets[node]; at < view.offsets[node + 1]; ++at) {
      std::uint64_t id = 0;
      topology->edge_ids({&at, 1}, {&id, 1}).or_throw();
      all.emplace_back(view.neighbour(at), static_cast<std::uint64_t>(types[id]), node);
    }
  }
  return all;
}

std::vector<Triple> held_out(const Array& part) {
  std::vector<Triple> all;
  const auto values = part.as<std::uint64_t>();
  for (std::size_t i = 0; i < values.size(); i += 5) {
    CHECK(values[i] == 0);
    CHECK(values[i + 4] == 1);
    all.emplace_back(values[i + 2], values[i + 1], values[i + 3]);
  }
  return all;
}

}  // namespace

TEST_CASE("kg: the same bytes for any threads and memory, all triples in disjoint parts") {
  const TempDir dir;
  KgGenerator::Options options = small_kg();
  options.edges = 500'003;
  make_kg(dir / "roomy", options, 1);
  make_kg(dir / "narrow", options, 4, 26 << 20);
  CHECK(Manifest::load(dir / "roomy").or_throw().to_text() ==
        Manifest::load(dir / "narrow").or_throw().to_text());

  const Dataset dataset = Dataset::open((dir / "narrow").string());
  const EdgeSplit split = dataset.edge_split("default");
  const std::vector<std::vector<Triple>> parts{
      training(dataset), held_out(split.valid), held_out(split.test)};
  CHECK(parts[0].size() + parts[1].size() + parts[2].size() == 500'003);
  CHECK(static_cast<double>(parts[1].size()) == doctest::Approx(0.05 * 500'003).epsilon(0.1));
  CHECK(static_cast<double>(parts[2].size()) == doctest::Approx(0.1 * 500'003).epsilon(0.1));
  // Triples are drawn again and again here, and yet none is in two parts.
  std::map<Triple, std::size_t> part_of;
  for (std::size_t part = 0; part < 3; ++part) {
    for (const Triple& triple : parts[part])
      REQUIRE(part_of.emplace(triple, part).first->second == part);
  }
  CHECK(part_of.size() < 450'000);
}

TEST_CASE("kg: the head's cluster and the relation tell the tail's cluster, but for noise") {
  const TempDir dir;
  const KgGenerator::Options options = small_kg();
  make_kg(dir / "x", options);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const KgDraw draw(options);
  for (std::uint64_t entity = 0; entity < 3'000; ++entity) REQUIRE(draw.rank(entity) < 3'000);

  // What training triples say most often, asked of the test triples.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::map<std::uint64_t, int>> votes;
  for (const auto& [head, relation, tail] : training(dataset))
    ++votes[{draw.cluster(head), relation}][draw.cluster(tail)];
  double right = 0, all = 0;
  for (const auto& [head, relation, tail] : held_out(dataset.edge_split("default").test)) {
    const auto& seen = votes.at({draw.cluster(head), relation});
    const auto best = std::max_element(
        seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    CHECK(best->first ==
          (draw.cluster(head) + draw.step(static_cast<std::uint32_t>(relation))) % 60);
    right += best->first == draw.cluster(tail) ? 1 : 0;
    ++all;
  }
  CHECK(right / all == doctest::Approx(0.8 + 0.2 / 60).epsilon(0.02));
}

TEST_CASE("kg: relations fall as 1, 1/2, 1/3, and few entities have most triples") {
  const TempDir dir;
  const KgGenerator::Options options = small_kg();
  make_kg(dir / "x", options);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const LabelSchema& labels = *dataset.schema().relations[0].labels;
  CHECK(labels.names.size() == 8);
  CHECK(labels.names[7] == "r7");
  const KgDraw draw(options);
  std::vector<double> of_relation(8), of_rank(3'000), tails_of_rank(3'000);
  for (const auto& [head, relation, tail] : training(dataset)) {
    ++of_relation[relation];
    ++of_rank[draw.rank(head)];
    ++tails_of_rank[draw.rank(tail)];
  }
  for (std::size_t r = 1; r < 8; ++r) {
    CAPTURE(r);
    CHECK(of_relation[0] / of_relation[r] ==
          doctest::Approx(static_cast<double>(r + 1)).epsilon(0.06));
  }
  // With skew 2 a share q of the entities, those of the first ranks, has the root of q of the
  // heads.
  for (auto* const counts : {&of_rank, &tails_of_rank}) {
    double all = 0, first = 0;
    for (std::size_t i = 0; i < 3'000; ++i) {
      all += (*counts)[i];
      first += i < 120 ? (*counts)[i] : 0;
    }
    CHECK(first / all == doctest::Approx(0.2).epsilon(0.05));
  }
}

TEST_CASE("kg: shares that leave nothing to train on are refused, one entity is enough") {
  const TempDir dir;
  KgGenerator::Options options = small_kg();
  options.valid = 0.6;
  options.test = 0.4;
  CHECK(expect_error([&] { make_kg(dir / "x", options); }).code() == ErrorCode::kUsage);
  options = small_kg();
  options.entities = 1;
  options.edges = 10;
  make_kg(dir / "one", options);
  options.edges = 0;
  options.entities = 7;
  make_kg(dir / "none", options);
  CHECK(Dataset::open((dir / "none").string()).schema().total_edges() == 0);
}
