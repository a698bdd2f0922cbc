#include "train/checkpoint.h"
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "train/support.h"
#include "train/weights.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

// Parts over a dataset, alive one at a time: LibTorch's allocator is the process's own.
std::unique_ptr<Parts> parts_of(const RunOptions& options) {
  return std::make_unique<Parts>(options,
                                 RunDevice{},
                                 std::make_shared<MemoryLedger>(),
                                 PartsPlacement{Placement::kMemory, Placement::kMemory});
}

void one_step(Parts& parts) {
  const auto loader = parts.training_loader({});
  loader->start({});
  const auto batch = loader->next();
  parts.task->training_loss(*parts.model, *batch, parts.key()).backward();
  parts.optimizer->step();
  parts.optimizer->zero_grad();
}

}  // namespace

TEST_CASE("a state comes back bit for bit, with weights, optimiser and best weights") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const RunOptions options = options_of(short_config(dir, dir / "x"));
  const std::string config = RunOptions(options).text();
  RunState state;
  state.epoch = 3;
  state.next_batch = 17;
  state.loss_sum = 0.1 + 0.2;
  state.loss_seeds = 99;
  state.batches_xxh3 = 0xfedcba9876543210ull;
  state.last_loss = std::numeric_limits<double>::quiet_NaN();
  state.epochs = {1.5, 2.5};
  state.metrics_lines = 3;
  LoaderStats counted;
  counted.requests = 2;
  counted.latency.add(70'000);
  counted.latency.add(3'000'000'000);
  counted.cache = {15, 1, 2, 4, 8};
  counted.stages = {{"fetch", 1.0 / 3, 2, 3}, {"step", 4, 5, 6}};
  state.counters += counted;
  std::uint64_t weights = 0;
  std::uint64_t best = 0;
  NamedTensors optimizer;
  {
    const auto parts = parts_of(options);
    state.best = BestEpoch{2, -0.0, {{"valid.accuracy", 1.0 / 3}}, clone_of(parts->weights())};
    best = weights_xxh3(state.best->weights);
    one_step(*parts);
    weights = weights_xxh3(parts->weights());
    CHECK(weights != best);
    optimizer = clone_of(parts->optimizer->named_state());
    save_checkpoint(dir / "last.ckpt", CheckpointKind::kLast, *parts, config, state);
    save_checkpoint(dir / "best.ckpt", CheckpointKind::kBest, *parts, config, state);
  }
  const auto parts = parts_of(options);
  const RunState back = restore_checkpoint(dir / "last.ckpt", CheckpointKind::kLast, *parts);
  CHECK(weights_xxh3(parts->weights()) == weights);
  for (const auto& [name, tensor] : parts->optimizer->named_state())
    CHECK(tensor.equal(optimizer.at(name)));
  CHECK(back.epoch == 3);
  CHECK(back.next_batch == 17);
  CHECK(back.loss_sum == state.loss_sum);
  CHECK(back.batches_xxh3 == state.batches_xxh3);
  CHECK(std::isnan(back.last_loss));
  CHECK(back.epochs == state.epochs);
  CHECK(back.counters.requests == 2);
  CHECK(back.counters.latency == counted.latency);
  CHECK(back.counters.cache == counted.cache);
  CHECK(stages_json(back.counters) == stages_json(state.counters));
  REQUIRE(back.best);
  CHECK(back.best->epoch == 2);
  CHECK(std::signbit(back.best->value));
  CHECK(back.best->metrics == state.best->metrics);
  CHECK(weights_xxh3(back.best->weights) == best);

  (void)restore_checkpoint(dir / "best.ckpt", CheckpointKind::kBest, *parts);
  CHECK(weights_xxh3(parts->weights()) == best);
}

TEST_CASE("a checkpoint of something else is refused and changes nothing") {
  const TempDir dir;
  generate_dataset(dir / "x");
  generate_dataset(dir / "y", {{"--seed", "2"}});
  const RunOptions options = options_of(short_config(dir, dir / "x"));
  {
    const auto parts = parts_of(options);
    save_checkpoint(dir / "a.ckpt", CheckpointKind::kLast, *parts, RunOptions(options).text(), {});
  }
  const auto refused = [&](const std::vector<std::string>& sets, CheckpointKind kind) {
    const RunOptions other = options_of(short_config(dir, dir / "x"), sets);
    const auto parts = parts_of(other);
    const std::uint64_t before = weights_xxh3(parts->weights());
    const Error error =
        expect_error([&] { (void)restore_checkpoint(dir / "a.ckpt", kind, *parts); });
    CHECK(weights_xxh3(parts->weights()) == before);
    CHECK(error.place().file == (dir / "a.ckpt").string());
    return error;
  };
  const auto last = CheckpointKind::kLast;
  const Error model = refused({"model.type=gcn"}, last);
  CHECK(model.code() == ErrorCode::kUsage);
  CHECK(model.message() == "the checkpoint is of model 'graphsage', the run is of 'gcn'");
  const Error dataset = refused({"dataset.path=" + (dir / "y").string()}, last);
  CHECK(dataset.code() == ErrorCode::kData);
  CHECK(dataset.message().find("the dataset changed under the run: ") == 0);
  const Error threads = refused({"train.compute_threads=2"}, last);
  CHECK(threads.message() ==
        "the run was begun with train.compute_threads = 1 and cannot go on with 2: results depend "
        "on it");
  CHECK(threads.hint() == "leave train.compute_threads out, or set it to 1");
  const Error settings = refused({"train.batch_size=8", "seed=2"}, last);
  CHECK(settings.message() ==
        "a run cannot go on with other settings than it began with\n  seed: 1 -> 2\n  "
        "train.batch_size: 64 -> 8");
  const Error shape = refused({"model.hidden=8"}, CheckpointKind::kBest);
  CHECK(shape.code() == ErrorCode::kData);
  CHECK(shape.message().find("the checkpoint is of another model: weight 'layer0.") == 0);
}

TEST_CASE("the text of counters leaves out stages that did nothing, the JSON does not") {
  RunCounters counters;
  counters.stages = {{"sample", 2, 0, 1}, {"repack", 0, 3, 0}, {"fetch", 0.001, 0.5, 0}};
  std::string text = to_text(counters);
  CHECK(text.find("sample            busy 2.00 s, starved 0.00 s, blocked 1.00 s") !=
        std::string::npos);
  CHECK(text.find("repack") == std::string::npos);
  CHECK(text.find("fetch") == std::string::npos);
  CHECK(stages_json(counters).size() == 3);
  counters.requests = 1;  // something was read, quickly as it may have been
  text = to_text(counters);
  CHECK(text.find("fetch") != std::string::npos);
}
