// Rows whose map is still to come: layers that add rows up give what they give of mapped rows, with
// the gradients of rows, maps and weights, whichever comes first; and make no mapped rows where
// sums take less.
#include "nn/typed_support.h"

#include <sluice/nn/hetero_sage_conv.h>
#include <sluice/nn/ledger_allocator.h>
#include <sluice/nn/pending_rows.h>
#include <sluice/nn/rgcn_conv.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::int64_t kIn = 8, kOut = 6;
constexpr std::array<std::int64_t, 2> kTargets{5, 4};

using Layer = std::function<std::vector<Tensor>(std::vector<nn::PendingRows>)>;

// Rows of both types before a map of each: the first has many, of which few are summed.
struct Inputs {
  std::vector<Tensor> rows;
  std::vector<std::shared_ptr<nn::Linear>> maps;

  Inputs(std::int64_t columns, nn::Bias bias) {
    for (const std::int64_t count : {300, 9}) {
      const std::uint64_t number = rows.size();
      rows.push_back(random_tensor({count, columns}, 101 + number).requires_grad_());
      maps.push_back(std::make_shared<nn::Linear>(columns, kIn, bias, RandomKey(number)));
      const torch::NoGradGuard no_grad;  // biases start at 0: make them matter
      for (Tensor& each : maps.back()->parameters())
        each.add_(random_tensor(each.sizes(), 103 + number), 0.3);
    }
  }

  std::vector<nn::PendingRows> pending() const {
    return {nn::PendingRows(rows[0], maps[0].get()), nn::PendingRows(rows[1], maps[1].get())};
  }

  std::vector<Tensor> leaves(const torch::nn::Module& layer) const {
    std::vector<Tensor> all = layer.parameters();
    for (const auto& map : maps)
      for (const Tensor& each : map->parameters()) all.push_back(each);
    all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }
};

// Targets without edges among them.
std::vector<nn::BlockRef> blocks_of_types() {
  const auto lists = [](std::int64_t sources, std::int64_t targets, std::uint64_t seed) {
    SourceLists made(static_cast<std::size_t>(targets));
    for (std::size_t t = 1; t < made.size(); ++t)
      for (std::uint64_t e = 0; e < 2 + t; ++e)
        made[t].push_back(static_cast<std::int32_t>(
            RandomKey(seed).with(t).below(static_cast<std::uint64_t>(sources), e)));
    return make_block(sources, made);
  };
  std::vector<nn::BlockRef> blocks;
  for (const Block& block : {typed_block(0, 1, 0, lists(9, kTargets[0], 111)),
                             typed_block(1, 0, 0, lists(300, kTargets[0], 112)),
                             typed_block(2, 0, 1, lists(300, kTargets[1], 113))})
    blocks.push_back(std::make_shared<const Block>(block));
  return blocks;
}

void check_pending(const torch::nn::Module& module, const Layer& layer) {
  for (const nn::Bias bias : {nn::Bias::kNone, nn::Bias::kZero}) {
    for (const std::int64_t columns : {4, 64}) {
      CAPTURE(columns);
      const Inputs inputs(columns, bias);
      const auto run = [&](const std::vector<nn::PendingRows>& rows) {
        std::vector<Tensor> found = layer(rows);
        Tensor loss = torch::zeros({});
        for (std::size_t type = 0; type < 2; ++type)
          loss = loss + (found.at(type) * random_tensor(found[type].sizes(), 121 + type)).sum();
        const std::vector<Tensor> leaves = inputs.leaves(module);
        for (const Tensor& grad : torch::autograd::grad({loss}, leaves)) found.push_back(grad);
        return found;
      };
      const std::vector<Tensor> mapped = run(nn::as_they_are(nn::whole(inputs.pending())));
      const std::vector<Tensor> got = run(inputs.pending());
      REQUIRE(got.size() == mapped.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        check_close(got[i], mapped[i].to(torch::kFloat64));
      }
    }
  }
}

// Edges of several relations a block, or of one.
std::vector<nn::RelationBlock> blocks_by_relation(bool mixed) {
  std::vector<nn::RelationBlock> blocks;
  for (const nn::BlockRef& block : blocks_of_types()) {
    const std::int64_t edges = block->num_edges();
    if (mixed) blocks.push_back({block, torch::arange(edges, torch::kInt64).remainder(3)});
    if (!mixed) blocks.push_back({block, {}, static_cast<std::int64_t>(block->relation)});
  }
  return blocks;
}

}  // namespace

TEST_CASE("HeteroSageConv of rows before their maps is that of mapped rows") {
  const std::vector<nn::BlockRef> blocks = blocks_of_types();
  for (const nn::Aggregator aggregator : {nn::Aggregator::kMean, nn::Aggregator::kMax}) {
    for (const nn::Combine combine : {nn::Combine::kSum, nn::Combine::kConcat}) {
      const nn::HeteroSageConv conv(
          {{kIn, kOut, aggregator, combine}, {0, 1}, typed_layer_relations(), 2, 3}, RandomKey(6));
      check_pending(conv, [&](std::vector<nn::PendingRows> x) {
        return conv.forward({}, blocks, std::move(x), {kTargets[0], kTargets[1]});
      });
    }
  }
}

TEST_CASE("RgcnConv of rows before their maps is that of mapped rows") {
  for (const bool mixed : {true, false}) {
    const std::vector<nn::RelationBlock> blocks = blocks_by_relation(mixed);
    for (const std::int64_t bases : {1, 2, 3}) {
      const nn::RgcnConv conv({kIn, kOut, 3, bases}, RandomKey(7));
      check_pending(conv, [&](std::vector<nn::PendingRows> x) {
        return conv.forward({}, blocks, std::move(x), {kTargets[0], kTargets[1]});
      });
    }
  }
}

TEST_CASE("RgcnConv: edges of one relation are the same told once or edge by edge") {
  const std::vector<nn::RelationBlock> once = blocks_by_relation(/*mixed=*/false);
  std::vector<nn::RelationBlock> by_edge = once;
  for (nn::RelationBlock& each : by_edge)
    each.relations = torch::full({each.block->num_edges()}, each.relation, torch::kInt64);
  const Inputs inputs(kIn, nn::Bias::kNone);
  // More relations into the first type than matrices, and no more.
  for (const std::int64_t bases : {1, 3}) {
    const nn::RgcnConv conv({kIn, kOut, 3, bases}, RandomKey(8));
    const auto run = [&](const std::vector<nn::RelationBlock>& blocks) {
      std::vector<Tensor> found =
          conv.forward({}, blocks, nn::as_they_are(inputs.rows), {kTargets[0], kTargets[1]});
      const Tensor loss = found[0].square().sum() + found[1].square().sum();
      std::vector<Tensor> leaves = conv.parameters();
      leaves.insert(leaves.end(), inputs.rows.begin(), inputs.rows.end());
      for (const Tensor& grad : torch::autograd::grad({loss}, leaves)) found.push_back(grad);
      return found;
    };
    const std::vector<Tensor> got = run(once), expected = run(by_edge);
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      check_close(got[i], expected[i].to(torch::kFloat64));
    }
  }
}

TEST_CASE("few sums of many rows are mapped, not the rows") {
  constexpr std::int64_t kMany = 20000, kWide = 64;
  const torch::NoGradGuard no_grad;
  const auto block = std::make_shared<const Block>(make_block(kMany, SourceLists{{1, 7}, {}, {9}}));
  const nn::Linear map(kIn, kWide, nn::Bias::kZero, RandomKey(1));
  const Tensor rows = random_tensor({kMany, kIn}, 131);
  const nn::HeteroSageConv sage({{kWide, kOut}, {0}, {{0, 0, 0}}, 1, 1}, RandomKey(2));
  const nn::RgcnConv rgcn({kWide, kOut, 1, 1}, RandomKey(3));
  const Tensor none = torch::zeros({block->num_edges()}, torch::kInt64);
  const std::vector<nn::PendingRows> pending{nn::PendingRows(rows, &map)};
  const auto peak_of = [](const auto& forward) {
    const nn::LedgerAllocation allocation(std::make_shared<MemoryLedger>());
    (void)forward();
    return allocation.peak();
  };
  constexpr std::uint64_t kMapped = kMany * kWide * sizeof(float);
  CHECK(peak_of([&] { return sage.forward({}, {block}, pending, {3}); }) < kMapped / 4);
  CHECK(peak_of([&] { return rgcn.forward({}, {{block, none}}, pending, {3}); }) < kMapped / 4);
  CHECK(peak_of([&] { return nn::whole(pending); }) >= kMapped);
}
