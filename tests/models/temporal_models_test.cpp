// The models of events over batches of a small list of events, sampled in the test by looking at
// all of them.
#include "models/support.h"

#include "support/expect_error.h"

#include <sluice/models/pair_encoder.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::int64_t kStudents = 12, kEvents = 150, kNodeDim = 4, kEdgeDim = 3;

struct Message {
  std::uint64_t from, to;
  std::int64_t time;
};

// In the order of time, with ties, students drawn with a skew.
std::vector<Message> draw_messages() {
  const RandomKey key(21);
  std::vector<Message> all;
  std::int64_t now = 0;
  for (std::uint64_t e = 0; e < kEvents; ++e) {
    const RandomKey own = key.with(e);
    now += static_cast<std::int64_t>(own.below(4, 0));
    const std::uint64_t from = own.below(kStudents, 1) * own.below(kStudents, 2) / kStudents;
    const std::uint64_t to = (from + 1 + own.below(kStudents - 1, 3)) % kStudents;
    all.push_back({from, to, now});
  }
  return all;
}

struct Seed {
  std::uint64_t node;
  std::int64_t time;
  bool operator==(const Seed&) const = default;
};

// Rows of a table by number: a function of the number alone.
Array table_rows(const std::vector<std::uint64_t>& numbers, std::int64_t dim, std::uint64_t seed) {
  std::vector<float> values;
  for (const std::uint64_t number : numbers) {
    const auto row = random_floats(dim, seed + 1000 * number);
    values.insert(values.end(), row.begin(), row.end());
  }
  return array_of(values, {static_cast<std::int64_t>(numbers.size()), dim});
}

std::int32_t row_of(std::vector<Seed>& rows, const Seed& what) {
  const auto found = std::ranges::find(rows, what);
  const auto row = static_cast<std::int32_t>(found - rows.begin());
  if (found == rows.end()) rows.push_back(what);
  return row;
}

// The latest `count` events of the first `targets` rows, each before its row's time.
Block recent_block(const std::vector<Message>& messages,
                   std::vector<Seed>& rows,
                   std::size_t targets,
                   std::size_t count) {
  std::vector<std::vector<std::int32_t>> sources(targets);
  std::vector<std::int64_t> deltas;
  std::vector<std::uint64_t> ids;
  for (std::size_t t = 0; t < targets; ++t) {
    const Seed target = rows[t];
    std::vector<std::uint64_t> seen;
    for (std::uint64_t e = 0; e < messages.size(); ++e) {
      const Message& each = messages[e];
      if (each.time < target.time && (each.from == target.node || each.to == target.node))
        seen.push_back(e);
    }
    if (seen.size() > count) seen.erase(seen.begin(), seen.end() - static_cast<long>(count));
    for (const std::uint64_t e : seen) {
      const Message& each = messages[e];
      const std::uint64_t other = each.from == target.node ? each.to : each.from;
      sources[t].push_back(row_of(rows, {other, each.time}));
      deltas.push_back(target.time - each.time);
      ids.push_back(e);
    }
  }
  Block block = make_block(static_cast<std::int64_t>(rows.size()), sources);
  block.deltas = array_of(deltas);
  block.features = {table_rows(ids, kEdgeDim, 7)};
  return block;
}

Batch sample(const std::vector<Seed>& seeds, std::size_t hops, std::size_t count) {
  static const std::vector<Message> messages = draw_messages();
  std::vector<Seed> rows = seeds;
  Batch batch;
  batch.layers.resize(hops);
  batch.nodes.resize(1);
  BatchNodes& nodes = batch.nodes[0];
  nodes.size_at.assign(hops + 1, static_cast<std::int64_t>(seeds.size()));
  for (std::size_t layer = hops; layer-- > 0;) {
    batch.layers[layer].push_back(recent_block(messages, rows, rows.size(), count));
    nodes.size_at[layer] = static_cast<std::int64_t>(rows.size());
  }
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> times;
  for (const Seed& row : rows) {
    ids.push_back(row.node);
    times.push_back(row.time);
  }
  nodes.ids = array_of(ids);
  nodes.times = array_of(times);
  nodes.features = {table_rows(ids, kNodeDim, 5)};
  batch.seeds = {array_of(
      std::vector<std::uint64_t>(ids.begin(), ids.begin() + static_cast<long>(seeds.size())))};
  return batch;
}

std::vector<Seed> some_seeds() {
  // The first has no events yet, the last all.
  return {{3, 0}, {0, 40}, {1, 90}, {5, 90}, {0, 120}, {2, 1000}};
}

GraphSchema message_schema() {
  GraphSchema schema = homogeneous_schema(kStudents, kNodeDim, {LabelKind::kClass, 2});
  schema.relations[0].has_times = true;
  schema.relations[0].features.push_back({"features", DType::kF32, kEvents, kEdgeDim});
  return schema;
}

const std::vector<std::string> kTemporal{
    "model.type = 'tgat'\nmodel.hidden = 16\n",
    "model.type = 'tgat'\nmodel.hidden = 16\nmodel.layers = 1\nmodel.time_frequencies = "
    "'learned'\n",
    "model.type = 'tf_tgn'\nmodel.hidden = 16\nmodel.feed_forward = 32\n",
    "model.type = 'tf_tgn'\nmodel.hidden = 16\nmodel.layers = 1\nmodel.time_input = 'log'\n",
    "model.type = 'tf_tgn'\nmodel.hidden = 16\nmodel.pairs = 'co_occurrence'\n",
    "model.type = 'graphmixer'\nmodel.hidden = 16\nmodel.events = 6\n",
    "model.type = 'graphmixer'\nmodel.hidden = 16\nmodel.events = 6\nmodel.window = 30\n",
    "model.type = 'dygformer'\nmodel.channel = 4\n",
    "model.type = 'dygformer'\nmodel.channel = 4\nmodel.patch = 3\n"};

std::unique_ptr<Model> make(const std::string& toml,
                            const GraphSchema& schema,
                            std::int64_t width = 5,
                            std::vector<std::size_t> types = {0}) {
  const RunOptions options(toml + "optimizer.type = 'sgd'\n");
  return builtin_models().create(options.model,
                                 {schema, std::move(types), width, RandomKey(1), nullptr});
}

Batch sample_for(const Model& model, const std::vector<Seed>& seeds) {
  return sample(seeds, static_cast<std::size_t>(model.num_layers()), 8);
}

}  // namespace

TEST_CASE("models of events give a row a seed, and every parameter a gradient") {
  for (const std::string& toml : kTemporal) {
    INFO(toml);
    const auto model = make(toml, message_schema());
    CHECK(model->needs().edge_feature_groups == std::vector<std::string>{""});
    const Tensor out = model->encode(sample_for(*model, some_seeds()))[0];
    CHECK(out.sizes() == torch::IntArrayRef({6, 5}));
    CHECK(out.isfinite().all().item<bool>());
    out.square().sum().backward();
    for (const auto& item : model->named_parameters()) {
      CAPTURE(item.key());
      REQUIRE(item.value().grad().defined());
      CHECK(item.value().grad().isfinite().all().item<bool>());
    }
  }
}

TEST_CASE("a seed's row does not depend on its batch mates, their order or their padding") {
  const std::vector<Seed> seeds = some_seeds();
  for (const std::string& toml : kTemporal) {
    INFO(toml);
    const auto model = make(toml, message_schema());
    model->eval();
    const torch::NoGradGuard no_grad;
    const Tensor out = model->encode(sample_for(*model, seeds))[0];
    CHECK(torch::equal(model->encode(sample_for(*model, seeds))[0], out));
    const std::vector<Seed> turned(seeds.rbegin(), seeds.rend());
    CHECK(torch::allclose(model->encode(sample_for(*model, turned))[0].flip(0), out, 1e-4, 1e-5));
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      CAPTURE(i);
      const Tensor alone = model->encode(sample_for(*model, {seeds[i]}))[0];
      CHECK(torch::allclose(alone[0], out[static_cast<std::int64_t>(i)], 1e-4, 1e-5));
    }
  }
}

TEST_CASE("models of events learn how long ago a node's latest event was") {
  std::vector<Seed> seeds;
  for (std::uint64_t i = 0; i < 48; ++i) {
    const Seed seed{i % kStudents, static_cast<std::int64_t>(60 + 3 * i)};
    seeds.push_back(seed);
  }
  for (const std::string& toml : kTemporal) {
    INFO(toml);
    const RunOptions options(toml +
                             "model.dropout = 0\noptimizer.type = 'adam'\noptimizer.lr = 0.003\n");
    const GraphSchema schema = message_schema();
    const auto model =
        builtin_models().create(options.model, {schema, {0}, 1, RandomKey(2), nullptr});
    const auto optimizer = builtin_optimizers().create(options.optimizer, parameters_of(*model));
    const Batch batch = sample_for(*model, seeds);
    const Block& block = batch.layers.back()[0];
    std::vector<float> latest;
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      const auto end = static_cast<std::size_t>(block.offsets.as<std::int64_t>()[i + 1]);
      REQUIRE(end > static_cast<std::size_t>(block.offsets.as<std::int64_t>()[i]));
      latest.push_back(static_cast<float>(block.deltas.as<std::int64_t>()[end - 1]));
    }
    const Tensor ages = torch::tensor(latest);
    const Tensor labels = ages.gt(ages.median()).to(torch::kFloat32);
    double first = 0, last = 0;
    for (int step = 0; step < 150; ++step) {
      optimizer->zero_grad();
      const Tensor loss =
          torch::binary_cross_entropy_with_logits(model->encode(batch)[0].squeeze(1), labels);
      loss.backward();
      optimizer->step();
      last = loss.item<double>();
      if (step == 0) first = last;
    }
    CHECK(last < 0.7 * first);
  }
}

TEST_CASE("a graph without features is read by its times alone, and learned rows join it") {
  GraphSchema schema = message_schema();
  schema.nodes[0].features.clear();
  schema.relations[0].features.clear();
  for (const std::string& toml : kTemporal) {
    INFO(toml);
    const auto model = make(toml, schema);
    CHECK(model->needs().edge_feature_groups.empty());
    Batch batch = sample_for(*model, some_seeds());
    batch.nodes[0].features.clear();
    for (auto& layer : batch.layers) layer[0].features.clear();
    const Tensor out = model->encode(batch)[0];
    CHECK(out.sizes() == torch::IntArrayRef({6, 5}));
    out.square().sum().backward();
    for (const auto& item : model->named_parameters()) {
      CAPTURE(item.key());
      CHECK(item.value().grad().defined());
    }
  }
}

TEST_CASE("two node types and a relation each way") {
  GraphSchema schema;
  schema.nodes.resize(2);
  schema.nodes[0].name = "user";
  schema.nodes[0].count = 4;
  schema.nodes[0].features.push_back({"features", DType::kF32, 4, 3});
  schema.nodes[1].name = "page";
  schema.nodes[1].count = 3;
  schema.relations.resize(2);
  schema.relations[0].source = schema.relations[1].target = "user";
  schema.relations[0].target = schema.relations[1].source = "page";
  schema.relations[0].name = "edits";
  schema.relations[1].name = "edited_by";
  for (RelationSchema& relation : schema.relations) relation.has_times = true;
  for (const std::string& toml : kTemporal) {
    INFO(toml);
    const auto model = make(toml, schema, 5, {0, 1});
    const auto layers = static_cast<std::size_t>(model->num_layers());
    Batch batch;
    batch.nodes.resize(2);
    batch.seeds = {array_of(std::vector<std::uint64_t>{0, 2}),
                   array_of(std::vector<std::uint64_t>{0, 1, 2})};
    for (std::size_t type : {0u, 1u}) {
      batch.nodes[type].ids = batch.seeds[type];
      batch.nodes[type].size_at.assign(layers + 1, type == 0 ? 2 : 3);
    }
    batch.nodes[0].features = {array_of(random_floats(6, 9), {2, 3})};
    Block into_pages = make_block(2, {{0, 1}, {}, {1}});
    into_pages.target_type = 1;
    into_pages.deltas = array_of(std::vector<std::int64_t>{9, 2, 4});
    Block into_users = make_block(3, {{2}, {0, 1}});
    into_users.relation = 1;
    into_users.source_type = 1;
    into_users.deltas = array_of(std::vector<std::int64_t>{7, 8, 3});
    batch.layers.assign(layers, {into_pages, into_users});
    const Encoding out = model->encode(batch);
    CHECK(out[0].sizes() == torch::IntArrayRef({2, 5}));
    CHECK(out[1].sizes() == torch::IntArrayRef({3, 5}));
    CHECK(out[0].isfinite().all().item<bool>());
    CHECK(out[1].isfinite().all().item<bool>());
  }
}

TEST_CASE("models of pairs tell whom a node is asked about with, and others do not") {
  const std::vector<Seed> seeds{{0, 200}, {1, 200}, {2, 200}, {7, 200}};
  for (const std::string& toml : kTemporal) {
    INFO(toml);
    const auto model = make(toml, message_schema());
    model->eval();
    const torch::NoGradGuard no_grad;
    PairEncoder* const pairs = pair_encoder(*model);
    const bool expected =
        toml.find("dygformer") != std::string::npos || toml.find("pairs") != std::string::npos;
    CHECK((pairs != nullptr) == expected);
    if (pairs == nullptr) continue;
    const Batch batch = sample_for(*model, seeds);
    const auto whole = [](const std::vector<std::int64_t>& rows) {
      return torch::tensor(rows, torch::kInt64);
    };
    const PairEncoding both =
        pairs->encode_pairs(batch, {0, 0, whole({0, 0, 3}), whole({1, 2, 0})});
    CHECK(both.sources.sizes() == torch::IntArrayRef({3, 5}));
    CHECK(both.destinations.sizes() == torch::IntArrayRef({3, 5}));
    CHECK_FALSE(torch::allclose(both.sources[0], both.sources[1], 1e-3, 1e-4));
    // A pair by itself is the same pair.
    const PairEncoding alone = pairs->encode_pairs(batch, {0, 0, whole({3}), whole({0})});
    CHECK(torch::allclose(alone.sources[0], both.sources[2], 1e-4, 1e-5));
    CHECK(torch::allclose(alone.destinations[0], both.destinations[2], 1e-4, 1e-5));
    CHECK(pairs->encode_pairs(batch, {0, 0, whole({}), whole({})}).sources.size(0) == 0);
  }
}

TEST_CASE("TF-TGN of nodes by themselves gives pairs the rows of its nodes") {
  const auto model = make(kTemporal[2], message_schema());
  model->eval();
  const Batch batch = sample_for(*model, some_seeds());
  auto* const pairs = dynamic_cast<PairEncoder*>(model.get());
  REQUIRE(pairs != nullptr);
  const Tensor rows = torch::tensor({4, 1}, torch::kInt64);
  const PairEncoding both = pairs->encode_pairs(batch, {0, 0, rows, rows.flip(0)});
  const Tensor out = model->encode(batch)[0];
  CHECK(torch::equal(both.sources, out.index_select(0, rows)));
  CHECK(torch::equal(both.destinations, out.index_select(0, rows.flip(0))));
}

TEST_CASE("of more events than a model reads it takes the latest") {
  const Batch fewer = sample(some_seeds(), 1, 6), more = sample(some_seeds(), 1, 20);
  REQUIRE(more.layers[0][0].num_edges() > fewer.layers[0][0].num_edges());
  for (const std::size_t at : {2u, 4u, 7u, 8u}) {
    const std::string toml = kTemporal[at] + "model.events = 6\n";
    INFO(toml);
    const auto model = make(toml, message_schema());
    model->eval();
    const torch::NoGradGuard no_grad;
    CHECK(torch::allclose(model->encode(more)[0], model->encode(fewer)[0], 1e-4, 1e-5));
  }
}

TEST_CASE("GraphMixer's mean of a node's events says how many there were") {
  GraphSchema schema = message_schema();
  schema.nodes[0].features.clear();
  schema.relations[0].features.clear();
  const auto model =
      make("model.type = 'graphmixer'\nmodel.hidden = 16\nmodel.events = 6\n", schema);
  model->eval();
  const torch::NoGradGuard no_grad;
  // Layers that add nothing leave the events' own rows.
  for (const auto& item : model->named_parameters()) {
    if (item.key().find("_narrow") != std::string::npos) item.value().zero_();
  }
  // One event, three, none: all as long ago.
  Block block = make_block(3, {{1}, {0, 0, 0}, {}});
  block.deltas = array_of(std::vector<std::int64_t>{9, 9, 9, 9});
  Batch batch;
  batch.nodes.resize(1);
  batch.nodes[0].ids = array_of(std::vector<std::uint64_t>{0, 1, 2});
  batch.nodes[0].size_at.assign(2, 3);
  batch.seeds = {batch.nodes[0].ids};
  batch.layers.assign(1, {block});
  const Tensor out = model->encode(batch)[0];
  CHECK(out[0].abs().max().item<float>() > 1e-3f);
  CHECK(torch::allclose(out[1], 3 * out[0], 1e-4, 1e-5));
  CHECK(torch::equal(out[2], torch::zeros({5})));
}

TEST_CASE("models of events refuse what has no times, in words") {
  const GraphSchema timeless = homogeneous_schema(kStudents, kNodeDim, {LabelKind::kClass, 2});
  for (const char* name : {"tgat", "tf_tgn", "graphmixer", "dygformer"}) {
    CAPTURE(name);
    const std::string toml = std::string("model.type = '") + name + "'\n";
    const Error error = test::expect_error([&] { (void)make(toml, timeless); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(error.message() ==
          "model '" + std::string(name) +
              "' reads events, and the edges of relation 'node__edge__node' have no times");
    const auto model = make(toml, message_schema());
    Batch batch = sample_for(*model, some_seeds());
    for (auto& layer : batch.layers) layer[0].deltas = Array();
    CHECK(test::expect_error([&] { (void)model->encode(batch); }).code() == ErrorCode::kUsage);
  }
  CHECK(test::expect_error([] {
          (void)make("model.type = 'tf_tgn'\nmodel.hidden = 9\n", message_schema());
        }).message() == "model 'tf_tgn': hidden = 9 is no multiple of heads = 2");
}
