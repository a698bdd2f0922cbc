// Learned rows: what a step reads of its tables and hands to them.
#include "kernels/table.h"
#include "nn/support.h"
#include "storage/embedding/table_rows.h"
#include "storage/embedding/window_cache.h"
#include "support/temp_dir.h"

#include <sluice/nn/learned_rows.h>
#include <sluice/registry.h>

#include <memory>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::testing;

namespace {

std::shared_ptr<TableRows> table_of(const std::string& optimizer,
                                    Placement placement = Placement::kMemory) {
  TableRowsOptions options;
  options.rows = 9;
  options.dim = 4;
  options.initial.kind = InitialRows::Kind::kUniform;
  options.initial.scale = 0.5;
  options.initial.seed = 5;
  options.optimizer = builtin_sparse_optimizers().make(optimizer, "");
  options.rate = 0.3;
  options.placement = placement;
  return std::make_shared<TableRows>(options);
}

std::vector<float> all_of(RowTable& table) {
  std::vector<float> all(table.rows() * static_cast<std::size_t>(table.dim()));
  table.read_range(0, all);
  return all;
}

Batch batch_of(std::vector<std::uint64_t> ids, std::vector<std::int64_t> times = {}) {
  Batch batch;
  batch.nodes.resize(1);
  batch.nodes[0].ids = array_of(ids);
  if (!times.empty()) batch.nodes[0].times = array_of(times);
  batch.seeds = {batch.nodes[0].ids};
  return batch;
}

}  // namespace

TEST_CASE("learned rows: a step reads a mini-batch's nodes and moves them by their gradients") {
  const auto table = table_of("sgd");
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
  const auto table = table_of("adagrad"), other = table_of("adagrad");
  nn::LearnedRows rows({{"node", table}}, torch::kCPU);
  rows.begin(batch_of({2, 7, 2}, {1, 1, 5}), nn::Gradients::kWanted);
  const torch::Tensor weights = random_tensor({3, 4}, 3);
  (rows.rows(0) * weights).sum().backward();
  rows.step();
  const torch::Tensor sums = torch::stack({weights[0] + weights[2], weights[1]}).contiguous();
  const std::vector<std::uint64_t> ids{2, 7};
  other->update(ids, {sums.data_ptr<float>(), 8});
  CHECK(all_of(*table) == all_of(*other));
}

TEST_CASE("learned rows: those in memory lie in place, whatever their optimiser keeps") {
  for (const char* optimizer : {"sgd", "adagrad", "adagrad_row", "adam"}) {
    CAPTURE(optimizer);
    const auto table = table_of(optimizer);
    nn::LearnedRows rows({{"user", nullptr}, {"item", table}}, torch::kCPU);
    CHECK_FALSE(rows.has(0));
    CHECK_FALSE(rows.looks_ahead());
    REQUIRE(rows.in_place().size() == 1);
    const torch::Tensor all = rows.in_place().at("rows.item");
    const torch::Tensor read = torch::tensor(all_of(*table)).view({9, 4});
    CHECK(torch::equal(all, read));
    CHECK(torch::equal(rows.all(1).detach(), read));
    CHECK(torch::equal(rows.tile(1, 2, 5), read.narrow(0, 2, 5)));
    const std::vector<std::uint64_t> some{8, 0, 8};
    CHECK(torch::equal(rows.of(1, some), read.index({torch::tensor({8, 0, 8})})));
  }
}

TEST_CASE("learned rows on disk before they are opened: as they begin, none of them in place") {
  const auto memory = table_of("adagrad"), disk = table_of("adagrad", Placement::kDisk);
  nn::LearnedRows rows({{"node", disk}}, torch::kCPU);
  CHECK(rows.looks_ahead());
  CHECK(rows.in_place().empty());
  CHECK(all_of(*disk) == all_of(*memory));
  rows.begin(batch_of({6, 0, 3}), nn::Gradients::kNone);
  CHECK(torch::equal(rows.rows(0)[2], torch::tensor(all_of(*memory)).view({9, 4})[3]));
  CHECK_THROWS_AS(rows.all(0), Error);
}

TEST_CASE("learned rows on disk: mini-batches that were announced, in turn and out of turn") {
  const test::TempDir dir;
  TableRowsOptions options;
  options.rows = 600;
  options.dim = 8;
  options.initial.kind = InitialRows::Kind::kUniform;
  options.initial.seed = 5;
  options.optimizer = builtin_sparse_optimizers().make("adagrad", "");
  options.rate = 0.3;
  std::vector<nn::LearnedRows::Table> on_disk{{"user", nullptr}}, in_memory = on_disk;
  for (const char* name : {"item", "tag"}) {
    options.placement = Placement::kMemory;
    in_memory.push_back({name, std::make_shared<TableRows>(options)});
    options.placement = Placement::kDisk;
    const auto table = std::make_shared<TableRows>(options);
    table->set_cache(WindowCache::bytes_of(150, RowLayout::make(600, 8, 8)));
    table->set_window(4);
    table->open(dir / name, 0);
    on_disk.push_back({name, table});
  }
  nn::LearnedRows disk(on_disk, torch::kCPU), memory(in_memory, torch::kCPU);
  // Tags are in every third mini-batch alone.
  const auto batch_at = [](std::uint64_t index) {
    Batch batch;
    batch.nodes.resize(3);
    for (std::size_t type = 1; type < 3; ++type) {
      if (type == 2 && index % 3 != 0) continue;
      std::vector<std::uint64_t> ids;
      for (std::uint64_t i = 0; i < 20; ++i)
        ids.push_back(RandomKey(index).with(type).below(600, i));
      batch.nodes[type].ids = array_of(ids);
    }
    batch.seeds.resize(3);
    return std::make_shared<Batch>(batch);
  };
  const auto step = [&](nn::LearnedRows& rows, const Batch& batch) {
    rows.begin(batch, nn::Gradients::kWanted);
    torch::Tensor loss = rows.rows(1).pow(2).sum();
    if (batch.nodes[2].ids.numel() != 0) loss = loss + rows.rows(2).pow(3).sum();
    loss.backward();
    rows.step();
  };
  const auto step_both = [&](const Batch& batch) {
    step(disk, batch);
    step(memory, batch);
  };
  std::vector<std::shared_ptr<Batch>> announced;
  std::uint64_t next = 0;
  for (std::uint64_t index = 0; index < 60; ++index) {
    if (index % 17 == 16) {  // one that nobody announced: what was is announced anew
      step_both(*batch_at(1000 + index));
      announced.clear();
      next = index;
    }
    while (next <= index || disk.wants_more()) {
      announced.push_back(batch_at(next++));
      disk.expect(*announced.back());
    }
    step_both(*announced.front());
    announced.erase(announced.begin());
  }
  disk.forget();
  for (std::size_t type = 1; type < 3; ++type)
    CHECK(all_of(*on_disk[type].rows) == all_of(*in_memory[type].rows));
}

// The CPU stands for a device, and its memory for the device's: what is kept lies apart all the
// same.
TEST_CASE("learned rows that are kept on a device take the steps they would take in their table") {
  const torch::Tensor weights = random_tensor({3, 4}, 8), every = random_tensor({9, 4}, 9);
  for (const char* optimizer : {"sgd", "adagrad", "adagrad_row", "adam"}) {
    CAPTURE(optimizer);
    const auto table = table_of(optimizer), other = table_of(optimizer);
    nn::LearnedRows kept({{"node", table}}, torch::kCPU, &kernels::cpu_kernels());
    nn::LearnedRows plain({{"node", other}}, torch::kCPU);
    CHECK(kept.device_bytes() > 9 * 4 * sizeof(float));
    CHECK(plain.device_bytes() == 0);
    CHECK(kept.resident(0));
    CHECK_FALSE(kept.looks_ahead());
    const auto step = [&](nn::LearnedRows& rows, const Batch& batch, bool all) {
      rows.begin(batch, nn::Gradients::kWanted);
      torch::Tensor loss = (rows.rows(0) * weights).sum();
      if (all) loss = loss + (rows.all(0) * every).sum();
      loss.backward();
      rows.step();
    };
    const auto same_step = [&](const Batch& batch, bool all) {
      step(kept, batch, all);
      step(plain, batch, all);
    };
    same_step(batch_of({6, 0, 3}), false);
    same_step(batch_of({2, 7, 2}, {1, 1, 5}), false);
    same_step(batch_of({6, 0, 2}), true);
    const std::vector<std::uint64_t> some{8, 0, 8};
    CHECK(torch::equal(kept.tile(0, 2, 5), plain.tile(0, 2, 5)));
    CHECK(torch::equal(kept.of(0, some), plain.of(0, some)));
    // The table's own are those, in the middle and at the end.
    CHECK(all_of(*table) == all_of(*other));
    same_step(batch_of({1, 0, 3}), false);
    CHECK(torch::equal(kept.in_place().at("rows.node"), plain.in_place().at("rows.node")));
    // Somebody else takes a step: what is kept is read anew.
    const std::vector<std::uint64_t> ids{5};
    const std::vector<float> gradient{1, 2, 3, 4};
    table->update(ids, gradient);
    other->update(ids, gradient);
    same_step(batch_of({5, 6, 7}), true);
    CHECK(all_of(*table) == all_of(*other));
  }
}

TEST_CASE(
    "learned rows that are kept on a device are the table's when nobody keeps them any more") {
  const auto table = table_of("adam"), other = table_of("adam");
  const torch::Tensor weights = random_tensor({3, 4}, 8);
  for (const auto& [owner, by] :
       {std::pair{table, &kernels::cpu_kernels()},
        std::pair{other, static_cast<const kernels::KernelTable*>(nullptr)}}) {
    nn::LearnedRows rows({{"node", owner}}, torch::kCPU, by);
    rows.begin(batch_of({6, 0, 3}), nn::Gradients::kWanted);
    (rows.rows(0) * weights).sum().backward();
    rows.step();
  }
  CHECK(all_of(*table) == all_of(*other));
  const auto disk = table_of("adam", Placement::kDisk);
  nn::LearnedRows none({{"node", disk}}, torch::kCPU, &kernels::cpu_kernels());
  CHECK(none.device_bytes() == 0);
  CHECK(none.looks_ahead());
}
