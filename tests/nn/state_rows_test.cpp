// Rows of state: what is written is what is read, as a map in the test has it, in memory and on
// disk, through epochs and mini-batches that are announced early.
#include "nn/support.h"
#include "storage/embedding/table_rows.h"
#include "support/temp_dir.h"
#include "train/written_rows.h"

#include <sluice/nn/state_rows.h>

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <memory>
#include <vector>

using namespace sluice;
using namespace sluice::testing;

namespace {

constexpr std::uint64_t kNodes = 300;
constexpr nn::StateShape kShape{5, 2};

std::shared_ptr<TableRows> rows_of_state(Placement placement) {
  TableRowsOptions options;
  options.rows = kNodes;
  options.dim = static_cast<std::uint32_t>(kShape.columns());
  options.optimizer = std::make_shared<WrittenRows>();
  options.placement = placement;
  return std::make_shared<TableRows>(options);
}

Batch batch_of_nodes(const std::vector<std::uint64_t>& ids) {
  Batch batch;
  batch.nodes.resize(1);
  batch.nodes[0].ids = array_of(ids);
  batch.seeds = {batch.nodes[0].ids};
  return batch;
}

struct Row {
  std::vector<float> values;
  std::vector<std::int64_t> times;
};

// Times as they come and as they hardly do.
std::int64_t drawn_time(RandomKey key, std::uint64_t n) {
  const std::int64_t odd[] = {0,
                              -1,
                              1,
                              std::numeric_limits<std::int64_t>::max(),
                              std::numeric_limits<std::int64_t>::min(),
                              (std::int64_t{1} << 53) + 1,
                              -(std::int64_t{1} << 31)};
  const std::uint64_t which = key.below(10, n);
  return which < std::size(odd) ? odd[which] : static_cast<std::int64_t>(key.draw(n + 1));
}

// All mini-batches of a run, each announced before the one before it is written.
void check_run(const std::shared_ptr<TableRows>& table, bool apart) {
  nn::StateRows state({{"node", table}}, kShape, torch::kCPU);
  if (apart) state.keep_apart(nullptr);
  std::map<std::uint64_t, Row> expected;
  const RandomKey key(31);
  std::vector<std::unique_ptr<Batch>> batches;
  const auto draw = [&](std::uint64_t index) {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < 40; ++i) ids.push_back(key.with(index).below(kNodes, i));
    batches.push_back(std::make_unique<Batch>(batch_of_nodes(ids)));
    state.expect(*batches.back());
  };
  draw(0);
  for (std::uint64_t index = 0; index < 24; ++index) {
    if (index % 8 == 0) {
      state.go_to(1 + index / 8);
      expected.clear();
    }
    draw(index + 1);
    const Batch& batch = *batches[index];
    state.begin(batch);
    const auto ids = batch.nodes[0].ids.as<std::uint64_t>();
    const nn::NodeStates& got = state.of(0);
    REQUIRE(got.values.sizes() == torch::IntArrayRef({40, kShape.values}));
    REQUIRE(got.times.sizes() == torch::IntArrayRef({40, kShape.times}));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const auto found = expected.find(ids[i]);
      REQUIRE(got.known[row].item<bool>() == (found != expected.end()));
      const Row own = found == expected.end() ? Row{std::vector<float>(5), {0, 0}} : found->second;
      REQUIRE(torch::equal(got.values[row], torch::tensor(own.values)));
      REQUIRE(torch::equal(got.times[row], torch::tensor(own.times, torch::kInt64)));
    }
    // Half of them change, each once.
    std::map<std::uint64_t, Row> written;
    for (std::size_t i = 0; i < ids.size(); i += 2) {
      const RandomKey draws = key.with("row").with(index).with(ids[i]);
      const std::vector<float> values = random_floats(5, draws.draw(0));
      written[ids[i]] = {values, {drawn_time(draws, 1), drawn_time(draws, 5)}};
    }
    std::vector<torch::Tensor> values, times;
    std::vector<std::int64_t> nodes;
    for (const auto& [node, row] : written) {
      nodes.push_back(static_cast<std::int64_t>(node));
      values.push_back(torch::tensor(row.values));
      times.push_back(torch::tensor(row.times, torch::kInt64));
      expected[node] = row;
    }
    state.write(
        0, torch::tensor(nodes, torch::kInt64), {{}, torch::stack(values), torch::stack(times)});
    state.end();
  }
  state.forget();
}

}  // namespace

TEST_CASE("rows of state are what was written to them in this epoch, wherever they lie") {
  const test::TempDir dir;
  SUBCASE("in memory") {
    check_run(rows_of_state(Placement::kMemory), false);
  }
  SUBCASE("on disk, beside a cache of two mini-batches") {
    const auto table = rows_of_state(Placement::kDisk);
    const Batch batch = batch_of_nodes(std::vector<std::uint64_t>(40, 3));
    table->expect(batch.nodes[0].ids.as<std::uint64_t>());
    table->set_cache(table->needs().least_cache);
    table->open(dir / "rows", 0);
    check_run(table, false);
  }
  SUBCASE("kept apart") {
    const auto table = rows_of_state(Placement::kMemory);
    check_run(table, true);
    std::vector<float> all(kNodes * static_cast<std::size_t>(kShape.columns()));
    table->read_range(0, all);
    CHECK(std::ranges::all_of(all, [](float value) { return value == 0; }));
  }
}

TEST_CASE("rows of state of a generation are those that were committed") {
  const test::TempDir dir;
  const auto write = [](nn::StateRows& state, float value) {
    const Batch batch = batch_of_nodes({7, 9});
    state.begin(batch);
    state.write(0,
                torch::tensor(std::vector<std::int64_t>{9}, torch::kInt64),
                {{}, torch::full({1, 5}, value), torch::full({1, 2}, -5, torch::kInt64)});
    state.end();
  };
  const auto value = [](nn::StateRows& state) {
    const Batch batch = batch_of_nodes({7, 9});
    state.begin(batch);
    const nn::NodeStates states = state.of(0);
    state.end();
    CHECK_FALSE(states.known[0].item<bool>());
    return states.known[1].item<bool>() ? states.values[1][0].item<float>() : -1.0f;
  };
  std::uint64_t generation = 0;
  {
    const auto table = rows_of_state(Placement::kMemory);
    table->open(dir / "rows", 0);
    nn::StateRows state({{"node", table}}, kShape, torch::kCPU);
    state.go_to(3);
    write(state, 2.5f);
    generation = table->commit();
    write(state, 4.0f);
    CHECK(value(state) == 4.0f);
  }
  const auto table = rows_of_state(Placement::kMemory);
  table->open(dir / "rows", generation, TableAccess::kRead);
  nn::StateRows state({{"node", table}}, kShape, torch::kCPU);
  state.go_to(3);
  state.keep_apart(nullptr);
  CHECK(value(state) == 2.5f);
  write(state, 8.0f);
  CHECK(value(state) == 8.0f);
  state.go_to(3);
  CHECK(value(state) == 2.5f);  // what was kept apart is gone
  state.go_to(4);
  CHECK(value(state) == -1.0f);
}
