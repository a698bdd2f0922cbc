// UnionBlock against lists put together by hand.
#include "nn/typed_support.h"

#include "support/expect_error.h"

#include <sluice/error.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

// An edge of the union: its relation, its rows in their types' lists, and in the union's.
struct UnionEdge {
  std::int64_t relation, target, source, union_target, union_source;
};

// Row of a node among targets of both types, then the other rows of both.
std::int64_t union_row(const Batch& batch, std::size_t type, std::int64_t row) {
  const auto sizes = [&](std::size_t of, std::size_t at) { return batch.nodes[of].size_at[at]; };
  if (row < sizes(type, 1)) return (type == 1 ? sizes(0, 1) : 0) + row;
  const std::int64_t rest = sizes(0, 1) + sizes(1, 1) + row - sizes(type, 1);
  return rest + (type == 1 ? sizes(0, 0) - sizes(0, 1) : 0);
}

// By union target, relation by relation, each in its block's order.
std::vector<UnionEdge> union_edges(const Batch& batch) {
  std::vector<UnionEdge> edges;
  for (const Block& block : batch.layers[0]) {
    const auto offsets = block.offsets.as<std::int64_t>();
    const auto sources = block.neighbours.as<std::int32_t>();
    for (std::int64_t t = 0; t < block.num_targets; ++t) {
      const auto at = static_cast<std::size_t>(t);
      for (std::int64_t e = offsets[at]; e < offsets[at + 1]; ++e) {
        const std::int64_t s = sources[static_cast<std::size_t>(e)];
        edges.push_back({static_cast<std::int64_t>(block.relation),
                         t,
                         s,
                         union_row(batch, block.target_type, t),
                         union_row(batch, block.source_type, s)});
      }
    }
  }
  std::ranges::stable_sort(edges, {}, &UnionEdge::union_target);
  return edges;
}

}  // namespace

TEST_CASE("a union of blocks lists each target's edges relation by relation") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    const Batch batch = typed_layer(seed);
    const nn::UnionBlock all(batch, 0, both_types());
    const std::vector<UnionEdge> edges = union_edges(batch);
    const Block& block = *all.block();
    REQUIRE(block.num_sources == 21);
    REQUIRE(block.num_targets == 9);
    REQUIRE(block.num_edges() == static_cast<std::int64_t>(edges.size()));
    const EdgeEnds ends = ends_of(block);
    const Tensor relations = all.relations(), keys = all.edge_keys();
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const auto at = static_cast<std::int64_t>(e);
      CHECK(ends.targets[at].item<std::int64_t>() == edges[e].union_target);
      CHECK(ends.sources[at].item<std::int64_t>() == edges[e].union_source);
      CHECK(relations[at].item<std::int64_t>() == edges[e].relation);
      // Twelve rows are the most of a type.
      CHECK(keys[at].item<std::int64_t>() ==
            (edges[e].relation * 12 + edges[e].target) * 12 + edges[e].source);
    }
  }
}

TEST_CASE("the transpose of a union has each edge once, by its source") {
  const Batch batch = typed_layer(4);
  const nn::UnionBlock all(batch, 0, both_types());
  const Block& block = *all.block();
  const EdgeEnds ends = ends_of(block);
  const auto offsets = block.transposed_offsets.as<std::int64_t>();
  const auto targets = block.transposed_targets.as<std::int32_t>();
  const auto edges = block.transposed_edges.as<std::int32_t>();
  REQUIRE(offsets.size() == 22);
  REQUIRE(offsets.back() == block.num_edges());
  std::vector<int> seen(edges.size(), 0);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ++seen.at(static_cast<std::size_t>(edges[at]));
      CHECK(ends.sources[edges[at]].item<std::int64_t>() == static_cast<std::int64_t>(s));
      CHECK(ends.targets[edges[at]].item<std::int64_t>() == targets[at]);
    }
  }
  CHECK(std::ranges::count(seen, 1) == static_cast<std::ptrdiff_t>(seen.size()));
}

TEST_CASE("rows of types are joined in the union's order, and those of targets split again") {
  const Batch batch = typed_layer(5);
  const nn::UnionBlock all(batch, 0, both_types());
  const std::vector<Tensor> x{random_tensor({12, 3}, 1), random_tensor({9, 3}, 2)};
  const Tensor joined = all.join(x);
  REQUIRE(joined.size(0) == 21);
  for (std::size_t type = 0; type < 2; ++type)
    for (std::int64_t row = 0; row < x[type].size(0); ++row)
      CHECK(torch::equal(joined[union_row(batch, type, row)], x[type][row]));
  const std::vector<Tensor> targets = all.split(joined.narrow(0, 0, 9));
  CHECK(torch::equal(targets[0], x[0].narrow(0, 0, 5)));
  CHECK(torch::equal(targets[1], x[1].narrow(0, 0, 4)));
}

TEST_CASE("rows of edges go to the union's order and back, and so do their gradients") {
  const Batch batch = typed_layer(6);
  const nn::UnionBlock all(batch, 0, both_types());
  const std::int64_t count = all.block()->num_edges();
  const Tensor rows = random_tensor({count, 2}, 3).requires_grad_();
  const Tensor turned = all.by_target(rows);
  CHECK(torch::equal(all.by_block(turned), rows));
  CHECK_FALSE(torch::equal(turned, rows));
  const Tensor grad = random_tensor({count, 2}, 4);
  turned.backward(grad);
  CHECK(torch::equal(rows.grad(), all.by_block(grad)));
}

TEST_CASE("a union leaves out types that are not written, and takes one block as it is") {
  const Batch batch = typed_layer(7);
  const nn::UnionBlock first(batch, 0, {{true, true}, {true, false}});
  REQUIRE(first.blocks().size() == 2);
  CHECK(first.block()->num_targets == 5);
  CHECK(first.num_targets(1) == 0);
  CHECK(first.block()->num_edges() ==
        batch.layers[0][0].num_edges() + batch.layers[0][1].num_edges());
  CHECK_FALSE(first.split(torch::zeros({5, 1}))[1].defined());

  Batch one;
  one.nodes.resize(1);
  one.nodes[0].size_at = {40, 15};
  one.layers = {{random_block(40, 15, 6, 8)}};
  const nn::UnionBlock same(one, 0, {{true}, {true}});
  CHECK(same.block()->neighbours.data() == one.layers[0][0].neighbours.data());
  const Tensor x = random_tensor({40, 2}, 9);
  CHECK(torch::equal(same.join({x}), x));
  CHECK(test::expect_error([&] {
          (void)nn::UnionBlock(one, 1, {{true}, {true}});
        }).code() == ErrorCode::kInternal);
}
