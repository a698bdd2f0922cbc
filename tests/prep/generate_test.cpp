#include "prep/check/inspect.h"
#include "prep/check/verify.h"
#include "prep/generate/hetero.h"
#include "prep/generate/rmat.h"
#include "prep/generate/sbm.h"
#include "prep/generate/temporal.h"
#include "registry/core.h"
#include "silent_session.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <ios>
#include <memory>
#include <set>
#include <variant>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::SilentSession;
using sluice::test::TempDir;

namespace {

void make(const std::filesystem::path& target, Generator& generator, SilentSession& session) {
  DatasetWriter writer(target, Overwrite::kRefuse, &session.ledger);
  generator.generate(writer, session.context);
  writer.commit("test");
}

SbmGenerator::Options small_sbm() {
  SbmGenerator::Options options;
  options.nodes = 4000;
  options.edges = 40'000;
  options.node_options.features = 16;
  options.node_options.classes = 8;
  options.node_options.signal = 2;
  return options;
}

}  // namespace

TEST_CASE("a generated graph depends on its options alone, not on threads") {
  const TempDir dir;
  SilentSession one(1);
  SilentSession four(4);
  SbmGenerator sbm(small_sbm());
  make(dir / "a", sbm, one);
  make(dir / "b", sbm, four);
  CHECK(Manifest::load(dir / "a").or_throw().to_text() ==
        Manifest::load(dir / "b").or_throw().to_text());
  SbmGenerator::Options other = small_sbm();
  other.seed = 2;
  SbmGenerator sbm2(other);
  make(dir / "c", sbm2, one);
  CHECK(Manifest::load(dir / "a").or_throw().to_text() !=
        Manifest::load(dir / "c").or_throw().to_text());
  CHECK(one.ledger.used() == 0);
}

TEST_CASE("sbm: homophily and class centres are as asked") {
  const TempDir dir;
  SilentSession session;
  SbmGenerator sbm(small_sbm());
  make(dir / "x", sbm, session);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const Array labels_array = dataset.labels("node");
  const auto labels = labels_array.as<std::int32_t>();
  const auto topology = dataset.topology("node__edge__node");
  const CscView& view = *topology->resident();
  double same = 0;
  for (std::uint64_t node = 0; node < 4000; ++node) {
    for (auto at = view.offsets[node]; at < view.offsets[node + 1]; ++at) {
      same += labels[view.neighbour(at)] == labels[node] ? 1 : 0;
    }
  }
  CHECK(same / 40'000 == doctest::Approx(0.8 + 0.2 / 8).epsilon(0.02));

  // Means over a class tell the centres: far from zero together, and noise of deviation 1 about
  // them.
  const auto store = dataset.features("node", {Placement::kMemory});
  std::vector<std::uint64_t> rows(4000);
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::vector<float> x(4000 * 16);
  store->gather(rows, std::as_writable_bytes(std::span(x))).or_throw();
  double length = 0;
  double noise = 0;
  for (int dimension = 0; dimension < 16; ++dimension) {
    std::array<double, 8> mean{};
    for (std::size_t n = 0; n < 4000; ++n)
      mean[static_cast<std::size_t>(labels[n])] +=
          x[n * 16 + static_cast<std::size_t>(dimension)] / 500;
    for (const double m : mean) length += m * m / 8;
    for (std::size_t n = 0; n < 4000; ++n) {
      noise += std::pow(x[n * 16 + static_cast<std::size_t>(dimension)] -
                            mean[static_cast<std::size_t>(labels[n])],
                        2) /
               (4000 * 16);
    }
  }
  CHECK(std::sqrt(length) == doctest::Approx(2).epsilon(0.25));
  CHECK(noise == doctest::Approx(1).epsilon(0.03));
}

TEST_CASE("the noise is close to normal: its first four moments") {
  const TempDir dir;
  SilentSession session;
  SbmGenerator::Options options = small_sbm();
  options.node_options.signal = 0;
  SbmGenerator sbm(options);
  make(dir / "x", sbm, session);
  const auto store = Dataset::open((dir / "x").string()).features("node", {Placement::kMemory});
  std::vector<std::uint64_t> rows(4000);
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::vector<float> x(4000 * 16);
  store->gather(rows, std::as_writable_bytes(std::span(x))).or_throw();
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  for (const double v : x) {
    m1 += v / 64'000;
    m2 += v * v / 64'000;
    m3 += v * v * v / 64'000;
    m4 += v * v * v * v / 64'000;
  }
  CHECK(std::abs(m1) < 0.02);
  CHECK(m2 == doctest::Approx(1).epsilon(0.02));
  CHECK(std::abs(m3) < 0.05);
  CHECK(m4 == doctest::Approx(2.7).epsilon(0.05));  // Irwin-Hall of four: kurtosis 3 - 6/20
}

TEST_CASE("multi-label and regression targets follow the hidden class") {
  const TempDir dir;
  SilentSession session;
  SbmGenerator::Options options = small_sbm();
  options.node_options.labels = LabelKind::kMultiLabel;
  options.node_options.classes = 10;
  SbmGenerator multi(options);
  make(dir / "m", multi, session);
  const Array bits = Dataset::open((dir / "m").string()).labels("node");
  CHECK(bits.shape() == Array::Shape{4000, 2});
  std::set<std::pair<int, int>> patterns;
  for (std::size_t n = 0; n < 4000; ++n)
    patterns.emplace(bits.as<std::uint8_t>()[2 * n], bits.as<std::uint8_t>()[2 * n + 1]);
  CHECK(patterns.size() > 5);
  CHECK(patterns.size() <= 10);

  options.node_options.labels = LabelKind::kRegression;
  options.node_options.target_noise = 0;
  SbmGenerator regression(options);
  make(dir / "r", regression, session);
  const Array targets = Dataset::open((dir / "r").string()).labels("node");
  std::set<float> values(targets.as<float>().begin(), targets.as<float>().end());
  CHECK(values.size() == 10);
}

TEST_CASE("rmat: scrambling is a bijection, and the graph is a power law") {
  for (const int bits : {1, 2, 5, 16}) {
    const Scramble scramble(bits);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < std::uint64_t{1} << bits; ++i) {
      REQUIRE(scramble.backward(scramble.forward(i)) == i);
      seen.insert(scramble.forward(i));
    }
    CHECK(seen.size() == std::uint64_t{1} << bits);
    CHECK(*seen.rbegin() == (std::uint64_t{1} << bits) - 1);
  }
  const TempDir dir;
  SilentSession session;
  RmatGenerator::Options options;
  options.scale = 12;
  options.node_options.features = 4;
  RmatGenerator rmat(options);
  make(dir / "x", rmat, session);
  const InspectReport report = inspect_dataset((dir / "x").string(), session.context);
  CHECK(report.relations[0].edges == 65536);
  CHECK(report.relations[0].max_in_degree > 500);
  CHECK(report.relations[0].isolated_targets > 400);
  CHECK(to_text(report).find("edges 'node__edge__node': 65,536") != std::string::npos);
}

TEST_CASE("impossible generator options are refused") {
  RmatGenerator::Options options;
  options.a = 0.9;
  CHECK(expect_error([&] { RmatGenerator{options}; }).code() == ErrorCode::kUsage);
  const TempDir dir;
  SilentSession session;
  SbmGenerator::Options sbm = small_sbm();
  sbm.node_options.train = 0.9;
  sbm.node_options.test = 0.2;
  SbmGenerator generator(sbm);
  CHECK(expect_error([&] { make(dir / "x", generator, session); }).code() == ErrorCode::kUsage);
  SilentSession poor(2, 4 << 20);
  sbm = small_sbm();
  SbmGenerator large(sbm);
  CHECK(expect_error([&] { make(dir / "x", large, poor); }).code() == ErrorCode::kResource);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("verify finds every one of 500 random bit flips over a dataset's files, and no more") {
  const TempDir dir;
  SilentSession session;
  SbmGenerator::Options options = small_sbm();
  options.node_options.features = 50;  // rows with padding behind them
  SbmGenerator sbm(options);
  make(dir / "x", sbm, session);
  const std::string path = (dir / "x").string();
  CHECK(verify_dataset(path, session.context).problems.empty());

  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / "x")) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  constexpr std::uint64_t kSeed = 7;
  MESSAGE("seed " << kSeed << ", " << files.size() << " files");
  for (std::uint64_t i = 0; i < 500; ++i) {
    const RandomKey key = RandomKey(kSeed).with(i);
    const auto& file = files[i < files.size() ? i : key.below(files.size(), 0)];
    const std::uint64_t byte = key.below(std::filesystem::file_size(file), 1);
    const auto flip = [&] {
      std::fstream io(file, std::ios::in | std::ios::out | std::ios::binary);
      io.seekg(static_cast<std::streamoff>(byte));
      const int old = io.get();
      io.seekp(static_cast<std::streamoff>(byte));
      io.put(static_cast<char>(old ^ (1 << key.below(8, 2))));
    };
    flip();
    CAPTURE(file.string());
    CAPTURE(byte);
    bool found = false;
    std::string where;
    try {
      const VerifyReport report = verify_dataset(path, session.context);
      found = report.problems.size() == 1;
      if (found) where = report.problems[0];
    } catch (const Error& error) {
      found = error.code() == ErrorCode::kData;
      where = error.what();
    }
    REQUIRE(found);
    REQUIRE(where.find(file.string()) != std::string::npos);
    flip();
  }
  CHECK(verify_dataset(path, session.context).problems.empty());
}

TEST_CASE("verify finds a graph that is wrong under right checksums, and names strangers") {
  const TempDir dir;
  DatasetWriter writer(dir / "x", Overwrite::kRefuse, nullptr);
  NodeTypeSchema node;
  node.name = "node";
  node.count = 3;
  node.labels = LabelSchema{LabelKind::kClass, 2};
  writer.schema().nodes.push_back(node);
  const std::vector<std::int32_t> labels{0, 1, 2};
  writer.write(node_path("node", "labels.bin"), std::span<const std::int32_t>(labels));
  RelationSchema relation{.source = "node", .name = "edge", .target = "node", .edges = 2};
  writer.schema().relations.push_back(relation);
  const std::vector<std::uint64_t> offsets{0, 2, 1, 2};
  const std::vector<std::uint32_t> neighbours{0, 3};
  writer.write(relation_path(relation, "offsets.bin"), std::span<const std::uint64_t>(offsets));
  writer.write(relation_path(relation, "neighbours.bin"),
               std::span<const std::uint32_t>(neighbours));
  writer.schema().splits.push_back({"s", "node", 1, 1, 0});
  const std::vector<std::uint64_t> train{7};
  writer.write(split_path("s", "train"), std::span<const std::uint64_t>(train));
  writer.write(split_path("s", "valid"), std::span<const std::uint64_t>(train));
  writer.write(split_path("s", "test"), std::span<const std::uint64_t>());
  writer.commit("test");
  dir.write("x/notes.txt", "mine");

  SilentSession session;
  const VerifyReport report = verify_dataset((dir / "x").string(), session.context);
  std::string all;
  for (const std::string& problem : report.problems) all += problem + "\n";
  CHECK(all.find("labels.bin: the label of node 2 is 2, outside -1 to 1") != std::string::npos);
  CHECK(all.find("offsets.bin: offset 2 is 1: offsets ascend from 0") != std::string::npos);
  CHECK(all.find("neighbours.bin: neighbour 1 is 3, not below 3 nodes") != std::string::npos);
  CHECK(all.find("train.bin: node 7 is not below 3 nodes") != std::string::npos);
  CHECK(report.strangers == std::vector<std::string>{"notes.txt"});
  const Dataset dataset = Dataset::open((dir / "x").string());
  CHECK(expect_error([&] { dataset.topology("node__edge__node"); }).code() == ErrorCode::kData);
}

namespace {

// The same bytes with one thread and much memory as with four and little.
void check_same_bytes(const TempDir& dir, Generator& generator) {
  SilentSession roomy(1);
  SilentSession narrow(4, 26 << 20);
  make(dir / "roomy", generator, roomy);
  make(dir / "narrow", generator, narrow);
  CHECK(Manifest::load(dir / "roomy").or_throw().to_text() ==
        Manifest::load(dir / "narrow").or_throw().to_text());
  CHECK(narrow.ledger.used() == 0);
  const VerifyReport report = verify_dataset((dir / "narrow").string(), narrow.context);
  CHECK(report.problems == std::vector<std::string>());
}

// A fiftieth of all that is counted in thousands, by default; and with a seed.
std::unique_ptr<Generator> small_generator(const std::string& name, std::int64_t seed) {
  const Catalog<Generator> catalog = builtin_generators();
  const std::shared_ptr<AnyOptions> options = catalog.make_options(name);
  Schema schema;
  options->describe(schema);
  for (const auto& field : schema.fields()) {
    if (auto* const number = std::get_if<std::int64_t*>(&field->target())) {
      if (**number >= 1000) **number /= 50;
      if (field->key() == "seed") **number = seed;
    }
  }
  return catalog.create({name, options});
}

}  // namespace

TEST_CASE("every generator: the same bytes for any threads and budget, others for another seed") {
  for (const auto& entry : builtin_generators().list()) {
    CAPTURE(entry.name);
    const TempDir dir;
    const auto generator = small_generator(entry.name, 1), other = small_generator(entry.name, 2);
    check_same_bytes(dir, *generator);
    SilentSession session;
    make(dir / "other", *other, session);
    CHECK(Manifest::load(dir / "other").or_throw().to_text() !=
          Manifest::load(dir / "roomy").or_throw().to_text());
  }
}

TEST_CASE("temporal: in-edges ascend in time, ties by event, and events repeat") {
  const TempDir dir;
  TemporalGenerator::Options options;
  options.nodes = 2'000;
  options.events = 400'000;
  options.seconds = 50'000;
  options.node_options.features = 4;
  TemporalGenerator generator(options);
  check_same_bytes(dir, generator);
  const std::string text = sluice::test::read_all(dir / "narrow/edges/node__event__node/times.bin");
  const auto* const times = reinterpret_cast<const std::int64_t*>(text.data());
  const Dataset dataset = Dataset::open((dir / "narrow").string());
  const auto topology = dataset.topology("node__event__node");
  const CscView& view = *topology->resident();
  std::uint64_t ties = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (std::uint64_t node = 0; node < topology->num_targets(); ++node) {
    std::uint64_t last_id = 0;
    for (std::uint64_t at = view.offsets[node]; at < view.offsets[node + 1]; ++at) {
      std::uint64_t id = 0;
      topology->edge_ids({&at, 1}, {&id, 1}).or_throw();
      pairs.emplace(view.neighbour(at), node);
      const bool first = at == view.offsets[node];
      REQUIRE(times[at] == TemporalDraw(options).time(id));
      REQUIRE((first || (times[at - 1] <= times[at] && last_id < id)));
      ties += !first && times[at - 1] == times[at] ? 1 : 0;
      last_id = id;
    }
  }
  CHECK(ties > 0);
  CHECK(times[0] >= options.start);
  CHECK(pairs.size() < 250'000);  // half of the 400,000 repeat another
}

TEST_CASE("temporal: classes drift, events stay within them, and labels say when") {
  const TempDir dir;
  TemporalGenerator::Options options;
  options.nodes = 600;
  options.events = 60'000;
  options.seconds = 5'000;
  options.homophily = 0.9;
  options.drift = 3;
  options.edge_features = 5;
  options.label_events = 3'000;
  options.node_options.features = 4;
  options.node_options.classes = 6;
  TemporalGenerator generator(options);
  check_same_bytes(dir, generator);
  const Dataset dataset = Dataset::open((dir / "narrow").string());
  REQUIRE(dataset.schema().relations.size() == 2);
  const TemporalDraw draw(options);
  const std::uint64_t events = draw.num_events();

  std::uint64_t within = 0, changes = 0;
  for (std::uint64_t event = 0; event < events; event += 7) {
    const auto [source, target] = draw(event);
    within +=
        draw.class_at(source, event, events) == draw.class_at(target, event, events) ? 1u : 0u;
  }
  // Repeats are of up to some thousands of events ago, in which few nodes changed.
  CHECK(within > events / 7 * 7 / 10);
  for (std::uint64_t node = 0; node < 600; ++node) {
    CHECK(draw.class_at(node, 0, events) == node % 6);
    std::uint32_t last = draw.class_at(node, 0, events);
    std::uint64_t own = 0;
    for (std::uint64_t event = 0; event < events; event += 100) {
      const std::uint32_t now = draw.class_at(node, event, events);
      own += now != last ? 1u : 0u;
      last = now;
    }
    CHECK(own >= 2);
    CHECK(own <= 3);
    changes += own;
  }
  CHECK(changes > 600 * 5 / 2);

  const LabelDraw labels(options);
  const std::string key = "node__label__node";
  const Array stored = dataset.edge_labels(key), times = dataset.edge_times(key);
  CHECK(dataset.schema().relation(key)->labels->width == 6);
  REQUIRE(stored.numel() == 3'000);
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    const auto [node, same] = labels(i);
    CHECK(node == same);
    const auto label = static_cast<std::uint32_t>(stored.as<std::int32_t>()[i]);
    REQUIRE(label == draw.class_at(node, i, 3'000));
  }
  const auto topology = dataset.topology(key);
  for (std::uint64_t at = 0; at < 3'000; ++at) {
    std::uint64_t id = 0;
    topology->edge_ids({&at, 1}, {&id, 1}).or_throw();
    REQUIRE(times.as<std::int64_t>()[at] == labels.time(id));
  }
  const auto store = dataset.edge_features("node__event__node");
  CHECK(dataset.schema().relation("node__event__node")->features[0].rows == events);
  std::vector<float> rows(2 * 5);
  const std::vector<std::uint64_t> ids{events - 1, 0};
  store->gather(ids, std::as_writable_bytes(std::span(rows))).or_throw();
  CHECK(std::ranges::all_of(rows, [](float value) { return std::abs(value) < 7; }));
  CHECK(rows[0] != rows[5]);
}

TEST_CASE("hetero: the same bytes for any budget, with the types and relations it says") {
  const TempDir hetero_dir;
  HeteroGenerator::Options hetero;
  hetero.papers = 5'000;
  hetero.authors = 3'000;
  hetero.institutions = 50;
  hetero.cites = 600'000;
  hetero.writes = 300'000;
  hetero.works_at = 4'000;
  hetero.node_options.features = 8;
  HeteroGenerator hetero_generator(hetero);
  check_same_bytes(hetero_dir, hetero_generator);
  const GraphSchema schema = Manifest::load(hetero_dir / "narrow").or_throw().schema;
  CHECK(schema.nodes.size() == 3);
  CHECK(schema.relation("author__works_at__institution")->edges == 4'000);
  CHECK(schema.node_type("institution")->features.empty());
  CHECK(schema.node_type("author")->features[0].dim == 32);
  CHECK(schema.splits.size() == 1);
}
