// Draws of tensors against draws of numbers, and views of mini-batches against lists of edges.
#include "nn/batch_views.h"
#include "models/support.h"
#include "nn/keyed_draws.h"
#include "nn/seen_features.h"
#include "nn/support.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ull;

std::uint64_t bits_at(const Tensor& draws, std::int64_t i) {
  return static_cast<std::uint64_t>(draws[i].item<std::int64_t>());
}

/// A ring of nodes, each with both neighbours and the node after the next.
Batch ring(std::int64_t count, std::size_t layers) {
  std::vector<std::vector<std::int32_t>> neighbours;
  const auto nodes = static_cast<std::int32_t>(count);
  for (std::int32_t node = 0; node < nodes; ++node)
    neighbours.push_back({(node + 1) % nodes, (node + nodes - 1) % nodes, (node + 2) % nodes});
  return whole_graph(neighbours, array_of(random_floats(count * 2, 3), {count, 2}), layers);
}

using Edges = std::multiset<std::pair<std::int64_t, std::int64_t>>;

Edges edges_of(const Block& block) {
  const EdgeEnds ends = ends_of(block);
  Edges edges;
  for (std::int64_t e = 0; e < block.num_edges(); ++e)
    edges.insert({ends.sources[e].item<std::int64_t>(), ends.targets[e].item<std::int64_t>()});
  return edges;
}

/// The transpose lists the same edges, by the numbers that the block gives them.
void check_transpose(const Block& block) {
  const EdgeEnds ends = ends_of(block);
  const auto offsets = block.transposed_offsets.as<std::int64_t>();
  const auto targets = block.transposed_targets.as<std::int32_t>();
  const auto numbers = block.transposed_edges.as<std::int32_t>();
  REQUIRE(std::ssize(offsets) == block.num_sources + 1);
  REQUIRE(offsets.back() == block.num_edges());
  for (std::int64_t source = 0; source < block.num_sources; ++source) {
    for (auto at = static_cast<std::size_t>(offsets[static_cast<std::size_t>(source)]);
         at < static_cast<std::size_t>(offsets[static_cast<std::size_t>(source) + 1]);
         ++at) {
      CHECK(ends.sources[numbers[at]].item<std::int64_t>() == source);
      CHECK(ends.targets[numbers[at]].item<std::int64_t>() == targets[at]);
    }
  }
}

}  // namespace

TEST_CASE("draws of a tensor are SplitMix64 of each number, whatever stands beside it") {
  const RandomKey key(11);
  const std::vector<std::int64_t> numbers{0, 1, 2, 77, (std::int64_t{1} << 62) + 5};
  const Tensor drawn = nn::draws(key, torch::tensor(numbers, torch::kInt64));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<std::uint64_t>(numbers[i]);
    CHECK(bits_at(drawn, static_cast<std::int64_t>(i)) ==
          mix((number + 1) * kGolden + key.draw(0)));
  }
  const Tensor pairs = nn::pair_draws(
      key, torch::tensor({3, 4}, torch::kInt64), torch::tensor({4, 3}, torch::kInt64));
  CHECK(bits_at(pairs, 0) == mix(5 * kGolden + mix(4 * kGolden + key.draw(0))));
  CHECK(bits_at(pairs, 0) != bits_at(pairs, 1));
}

TEST_CASE("a rate is the share that is chosen, all at 1 and none at 0") {
  const std::int64_t count = 20000;
  const Tensor numbers = torch::arange(count);
  for (const double rate : {0.1, 0.5, 0.75}) {
    CAPTURE(rate);
    const auto chosen =
        static_cast<double>(nn::chosen(RandomKey(4), numbers, rate).sum().item<std::int64_t>());
    const double deviation = std::sqrt(static_cast<double>(count) * rate * (1 - rate));
    CHECK(std::abs(chosen - rate * static_cast<double>(count)) < 5 * deviation);
  }
  CHECK(nn::chosen(RandomKey(4), numbers, 1).all().item<bool>());
  CHECK_FALSE(nn::chosen(RandomKey(4), numbers, 0).any().item<bool>());
  // The same node has the same draw in another mini-batch; another key draws anew.
  const Tensor some = torch::tensor({17, 5, 11}, torch::kInt64);
  const Tensor all = nn::chosen(RandomKey(4), numbers, 0.5);
  CHECK(torch::equal(nn::chosen(RandomKey(4), some, 0.5), all.index_select(0, some)));
  CHECK_FALSE(torch::equal(nn::chosen(RandomKey(5), numbers, 0.5), all));
}

TEST_CASE("a drawn order has each place once and depends on the key") {
  const Tensor numbers = torch::arange(100) * 7;
  const Tensor order = nn::drawn_order(RandomKey(1), numbers);
  CHECK(torch::equal(std::get<0>(order.sort()), torch::arange(100)));
  CHECK_FALSE(torch::equal(order, nn::drawn_order(RandomKey(2), numbers)));
  CHECK_FALSE(torch::equal(order, torch::arange(100)));
}

TEST_CASE("edges that are kept stay in order, with their transpose and what belongs to them") {
  Block block = random_block(9, 6, 5, 21);
  std::vector<std::uint64_t> ids;
  for (std::int64_t e = 0; e < block.num_edges(); ++e)
    ids.push_back(static_cast<std::uint64_t>(100 + e));
  block.edge_ids = array_of(ids);
  const EdgeEnds ends = ends_of(block);
  const Tensor keep = nn::chosen(RandomKey(2), torch::arange(block.num_edges()), 0.5);
  const Block kept = nn::kept_edges(block, keep);
  Edges expected;
  std::vector<std::uint64_t> expected_ids;
  for (std::int64_t e = 0; e < block.num_edges(); ++e) {
    if (!keep[e].item<bool>()) continue;
    expected.insert({ends.sources[e].item<std::int64_t>(), ends.targets[e].item<std::int64_t>()});
    expected_ids.push_back(ids[static_cast<std::size_t>(e)]);
  }
  REQUIRE(!expected.empty());
  CHECK(edges_of(kept) == expected);
  CHECK(std::ranges::equal(kept.edge_ids.as<std::uint64_t>(), expected_ids));
  check_transpose(kept);
  const Block none = nn::kept_edges(block, torch::zeros_like(keep));
  CHECK(none.num_edges() == 0);
  CHECK(none.offsets.as<std::int64_t>().back() == 0);
  check_transpose(none);
}

TEST_CASE("dropped edges are the same in all layers, and about as many as asked for") {
  const Batch batch = ring(400, 2);
  const Batch view = nn::with_dropped_edges(batch, RandomKey(3), 0.25);
  const Edges edges = edges_of(view.layers[0][0]);
  CHECK(edges == edges_of(view.layers[1][0]));
  const double expected = 0.75 * 1200, deviation = std::sqrt(1200 * 0.25 * 0.75);
  CHECK(std::abs(static_cast<double>(edges.size()) - expected) < 5 * deviation);
  CHECK(edges == edges_of(nn::with_dropped_edges(batch, RandomKey(3), 0.25).layers[0][0]));
  CHECK(edges_of(nn::with_dropped_edges(batch, RandomKey(3), 0).layers[0][0]).size() == 1200);
}

TEST_CASE("a dropped node loses all its edges, and no others are lost") {
  const Batch batch = ring(200, 1);
  const Batch view = nn::with_dropped_nodes(batch, RandomKey(6), 0.3);
  const Tensor dropped = nn::chosen(RandomKey(6), torch::arange(200), 0.3);
  REQUIRE(dropped.any().item<bool>());
  Edges expected;
  for (const auto& [source, target] : edges_of(batch.layers[0][0]))
    if (!dropped[source].item<bool>() && !dropped[target].item<bool>())
      expected.insert({source, target});
  CHECK(edges_of(view.layers[0][0]) == expected);
}

TEST_CASE("the first layers have what the layers behind read as seeds") {
  Batch batch;
  batch.seeds = {array_of<std::uint64_t>({7, 3})};
  batch.nodes.resize(1);
  batch.nodes[0].ids = array_of<std::uint64_t>({7, 3, 9, 1, 4});
  batch.nodes[0].size_at = {5, 4, 2};
  batch.layers = {{make_block(5, {{1}, {4}, {0}, {2}})}, {make_block(4, {{2}, {3}})}};
  const Batch inner = nn::first_layers(batch, 1);
  REQUIRE(inner.layers.size() == 1);
  CHECK(inner.num_seeds(0) == 4);
  CHECK(std::ranges::equal(inner.seeds[0].as<std::uint64_t>(),
                           std::vector<std::uint64_t>{7, 3, 9, 1}));
  CHECK(inner.nodes[0].size_at == std::vector<std::int64_t>{5, 4});
  CHECK(nn::first_layers(batch, 2).num_seeds(0) == 2);
  CHECK(nn::first_layers(batch, 0).num_seeds(0) == 5);
}

TEST_CASE("pairs are linked that any layer links, in either direction") {
  Batch batch;
  batch.seeds = {array_of<std::uint64_t>({7, 3, 9})};
  batch.nodes.resize(1);
  batch.nodes[0].ids = array_of<std::uint64_t>({7, 3, 9, 1});
  batch.nodes[0].size_at = {4, 3, 3};
  batch.layers = {{make_block(4, {{1, 3}, {}, {}})}, {make_block(3, {{}, {2}, {2}})}};
  const Tensor linked = nn::linked_pairs(batch, 0, torch::tensor({0, 1, 2}, torch::kInt64));
  const Tensor expected = torch::tensor({{0, 1, 0}, {1, 0, 1}, {0, 1, 1}}).to(torch::kBool);
  CHECK(torch::equal(linked, expected));
  const Tensor some = nn::linked_pairs(batch, 0, torch::tensor({0, 2}, torch::kInt64));
  CHECK(torch::equal(some, torch::tensor({{0, 0}, {0, 1}}).to(torch::kBool)));
}

TEST_CASE("features are seen as given while a view lives, and gradients reach them") {
  const Batch batch = ring(8, 1);
  const GraphSchema schema = homogeneous_schema(8, 2, {LabelKind::kClass, 2});
  const RunOptions options("model = { type = \"gcn\", layers = 1, dropout = 0.0 }\n");
  const auto model = builtin_models().create(options.model, {schema, {0}, 3, RandomKey(1)});
  const Tensor own = model->encode(batch)[0];
  const Tensor other = torch::ones({8, 2}).requires_grad_();
  {
    const nn::SeenFeatures seen(0, other);
    CHECK_FALSE(seen.read());
    const Tensor rows = model->encode(batch)[0];
    CHECK(seen.read());
    CHECK_FALSE(torch::equal(rows, own));
    rows.sum().backward();
    CHECK(other.grad().abs().sum().item<double>() > 0);
    CHECK_THROWS_AS(nn::SeenFeatures(0, other), Error);
  }
  CHECK(torch::equal(model->encode(batch)[0], own));
}
