// Learned rows: tables in memory beside the optimisers' formulas, and what a step hands to them.
#include "core/threads.h"
#include "nn/memory_rows.h"
#include "nn/support.h"

#include <sluice/nn/learned_rows.h>

#include <cmath>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using nn::RowOptimizer;

namespace {

nn::RowTableOptions table_of(RowOptimizer optimizer, std::uint64_t rows = 9) {
  return {rows, 4, optimizer, 0.3, 0.5, RandomKey(5)};
}

std::vector<float> all_of(RowTable& table) {
  std::vector<float> all(table.rows() * static_cast<std::size_t>(table.dim()));
  table.gather_range(0, all).or_throw();
  return all;
}

// What an optimiser keeps of an element and its row, in double.
struct Kept {
  double sum = 0, mean = 0, square = 0;
};

void step_element(RowOptimizer optimizer,
                  double rate,
                  double g,
                  double of_row,
                  int steps,
                  Kept& kept,
                  double& x) {
  switch (optimizer) {
    case RowOptimizer::kAdagrad:
      kept.sum += g * g;
      x -= rate * g / (std::sqrt(kept.sum) + 1e-10);
      return;
    case RowOptimizer::kAdagradRow:
      kept.sum += of_row;
      x -= rate * g / (std::sqrt(kept.sum) + 1e-10);
      return;
    case RowOptimizer::kAdam: {
      kept.mean = 0.9 * kept.mean + 0.1 * g;
      kept.square = 0.999 * kept.square + 0.001 * g * g;
      const double mean = kept.mean / (1 - std::pow(0.9, steps));
      const double square = kept.square / (1 - std::pow(0.999, steps));
      x -= rate * mean / (std::sqrt(square) + 1e-8);
      return;
    }
    case RowOptimizer::kSgd:
      x -= rate * g;
  }
}

constexpr RowOptimizer kOptimizers[] = {
    RowOptimizer::kAdagrad, RowOptimizer::kAdagradRow, RowOptimizer::kAdam, RowOptimizer::kSgd};

Batch batch_of(std::vector<std::uint64_t> ids, std::vector<std::int64_t> times = {}) {
  Batch batch;
  batch.nodes.resize(1);
  batch.nodes[0].ids = array_of(ids);
  if (!times.empty()) batch.nodes[0].times = array_of(times);
  batch.seeds = {batch.nodes[0].ids};
  return batch;
}

}  // namespace

TEST_CASE("rows start by the key and their number alone, within their bounds") {
  nn::MemoryRows few(table_of(RowOptimizer::kSgd, 9), nullptr, nullptr);
  ThreadArena threads(2);
  nn::MemoryRows many(table_of(RowOptimizer::kSgd, 5000), nullptr, &threads);
  const std::vector<float> first = all_of(few), all = all_of(many);
  double sum = 0, least = 1, most = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < first.size()) CHECK(first[i] == all[i]);
    sum += static_cast<double>(all[i]);
    least = std::min(least, static_cast<double>(all[i]));
    most = std::max(most, static_cast<double>(all[i]));
  }
  CHECK(least < -0.49);
  CHECK(most > 0.49);
  CHECK(least >= -0.5);
  CHECK(most <= 0.5);
  CHECK(std::abs(sum / static_cast<double>(all.size())) < 0.01);
}

TEST_CASE("a step moves the rows that it names as the optimiser's formula says, and no others") {
  for (const RowOptimizer optimizer : kOptimizers) {
    CAPTURE(static_cast<int>(optimizer));
    nn::MemoryRows table(table_of(optimizer), nullptr, nullptr);
    std::vector<float> start = all_of(table);
    std::vector<double> expected(start.begin(), start.end());
    std::vector<Kept> kept(expected.size());
    for (int steps = 1; steps <= 6; ++steps) {
      const std::vector<std::uint64_t> ids{static_cast<std::uint64_t>(steps) % 3, 7, 4};
      const std::vector<float> gradients =
          random_floats(12, static_cast<std::uint64_t>(100 + steps));
      if (steps == 4) {  // a range too
        const std::vector<float> range = random_floats(8, 77);
        table.update_range(2, range).or_throw();
        for (std::size_t i = 0; i < 2; ++i) {
          double squares = 0;
          for (std::size_t c = 0; c < 4; ++c) squares += std::pow(range[4 * i + c], 2);
          for (std::size_t c = 0; c < 4; ++c) {
            const std::size_t at = (2 + i) * 4 + c;
            step_element(
                optimizer, 0.3, range[4 * i + c], squares / 4, steps, kept[at], expected[at]);
          }
        }
        continue;
      }
      table.update(ids, gradients).or_throw();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        double squares = 0;
        for (std::size_t c = 0; c < 4; ++c) squares += std::pow(gradients[4 * i + c], 2);
        for (std::size_t c = 0; c < 4; ++c) {
          const std::size_t at = ids[i] * 4 + c;
          step_element(
              optimizer, 0.3, gradients[4 * i + c], squares / 4, steps, kept[at], expected[at]);
        }
      }
    }
    const std::vector<float> got = all_of(table);
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-4));
      const std::size_t row = i / 4;
      if (row == 5 || row == 6 || row == 8) CHECK(got[i] == start[i]);
    }
  }
}

TEST_CASE("steps of many rows are the same bits with any number of threads") {
  for (const RowOptimizer optimizer : kOptimizers) {
    ThreadArena threads(3);
    nn::MemoryRows one(table_of(optimizer, 4000), nullptr, nullptr);
    nn::MemoryRows other(table_of(optimizer, 4000), nullptr, &threads);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const std::vector<float> gradients = random_floats(16000, step);
      one.update_range(0, gradients).or_throw();
      other.update_range(0, gradients).or_throw();
    }
    CHECK(all_of(one) == all_of(other));
  }
}

TEST_CASE("a table is charged while it is there, and refused where there is no room") {
  MemoryLedger ledger(1 << 20);
  {
    const nn::MemoryRows table(table_of(RowOptimizer::kAdam, 1000), &ledger, nullptr);
    CHECK(ledger.used() >= 1000 * 4 * 3 * sizeof(float));
  }
  CHECK_THROWS_AS(nn::MemoryRows(table_of(RowOptimizer::kAdam, 100000), &ledger, nullptr), Error);
}

TEST_CASE("learned rows: a step reads a mini-batch's nodes and moves them by their gradients") {
  const auto table =
      std::make_shared<nn::MemoryRows>(table_of(RowOptimizer::kSgd), nullptr, nullptr);
  nn::LearnedRows rows({{"node", table}}, torch::kCPU);
  REQUIRE(rows.has(0));
  CHECK(rows.dim(0) == 4);
  CHECK(rows.dim(1) == 0);
  const std::vector<float> before = all_of(*table);
  const auto row = [&](const std::vector<float>& all, std::size_t at) {
    return torch::tensor(std::vector<float>(all.begin() + static_cast<long>(4 * at),
                                            all.begin() + static_cast<long>(4 * at + 4)));
  };
  const torch::Tensor weights = random_tensor({3, 4}, 8);

  rows.begin(batch_of({6, 0, 3}), nn::Gradients::kWanted);
  CHECK(torch::equal(rows.rows(0)[1].detach(), row(before, 0)));
  (rows.rows(0) * weights).sum().backward();
  SUBCASE("moved") {
    rows.step();
    const std::vector<float> after = all_of(*table);
    const std::vector<std::size_t> ids{6, 0, 3};
    for (std::size_t i = 0; i < 3; ++i)
      check_close(
          row(after, ids[i]),
          (row(before, ids[i]) - 0.3 * weights[static_cast<std::int64_t>(i)]).to(torch::kFloat64));
    for (const std::size_t other : {1u, 2u, 4u, 5u, 7u, 8u})
      CHECK(torch::equal(row(after, other), row(before, other)));
  }
  SUBCASE("dropped") {
    rows.end();
    CHECK(all_of(*table) == before);
  }
  SUBCASE("beside all rows: both gradients are one step") {
    const torch::Tensor every = random_tensor({9, 4}, 9);
    (rows.all(0) * every).sum().backward();
    rows.step();
    torch::Tensor expected = torch::tensor(before).view({9, 4}) - 0.3 * every;
    expected.index_add_(0, torch::tensor({6, 0, 3}, torch::kInt64), weights, -0.3);
    check_close(torch::tensor(all_of(*table)).view({9, 4}), expected.to(torch::kFloat64));
  }
}

TEST_CASE("learned rows: a node at several times is one row, its gradients added up") {
  const auto table =
      std::make_shared<nn::MemoryRows>(table_of(RowOptimizer::kAdagrad), nullptr, nullptr);
  const auto other =
      std::make_shared<nn::MemoryRows>(table_of(RowOptimizer::kAdagrad), nullptr, nullptr);
  nn::LearnedRows rows({{"node", table}}, torch::kCPU);
  rows.begin(batch_of({2, 7, 2}, {1, 1, 5}), nn::Gradients::kWanted);
  const torch::Tensor weights = random_tensor({3, 4}, 3);
  (rows.rows(0) * weights).sum().backward();
  rows.step();
  const torch::Tensor sums = torch::stack({weights[0] + weights[2], weights[1]}).contiguous();
  const std::vector<std::uint64_t> ids{2, 7};
  other->update(ids, {sums.data_ptr<float>(), 8}).or_throw();
  CHECK(all_of(*table) == all_of(*other));
}

TEST_CASE("learned rows: names of what is learned and of what optimisers keep") {
  const auto table =
      std::make_shared<nn::MemoryRows>(table_of(RowOptimizer::kAdagradRow), nullptr, nullptr);
  const nn::LearnedRows rows({{"user", nullptr}, {"item", table}}, torch::kCPU);
  CHECK(rows.weights().size() == 1);
  CHECK(rows.weights().at("rows.item").sizes() == torch::IntArrayRef({9, 4}));
  CHECK(rows.state().at("item.state").sizes() == torch::IntArrayRef({9, 1}));
  CHECK(rows.state().at("item.steps").sizes() == torch::IntArrayRef({1}));
  CHECK_FALSE(rows.has(0));
}
