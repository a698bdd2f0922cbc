// Runs that go on over what was appended: what is new and what is old, which queries come with what
// weight, and that nothing that should not matter does.
#include "train/continual.h"
#include "samplers/replay_queries.h"
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "support/growing_events.h"
#include "train/opened_run.h"
#include "train/support.h"

#include <sluice/nn/tensor_view.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

using KeySets = std::vector<std::string>;

RunReport first_stage(const GrowingEvents& events,
                      const std::string& model = GrowingEvents::kModel,
                      const KeySets& sets = {}) {
  Quiet quiet;
  return run_training(
      options_of(events.config(model), sets), RunDirectory::Mode::kNew, quiet.context);
}

RunReport next_stage(const GrowingEvents& events,
                     const std::string& from,
                     const std::string& to,
                     KeySets sets = {}) {
  Quiet quiet;
  sets.push_back("run.dir=" + events.run_dir(to));
  return continue_training(events.run_dir(from), sets, RunDirectory::Mode::kNew, quiet.context);
}

std::unique_ptr<Parts> stage_parts(const RunOptions& options) {
  return std::make_unique<Parts>(options,
                                 RunDevice{},
                                 std::make_shared<MemoryLedger>(),
                                 PartsPlacement{Placement::kMemory, Placement::kMemory});
}

std::vector<std::uint64_t> asked_ids(Parts& parts, Part part) {
  std::vector<std::uint64_t> ids;
  QueryRequest request{part, 50, false, parts.key()};
  request.ends_alone = true;
  request.sampler = parts.model->num_layers() == 0 ? nullptr : parts.sampler;
  const auto queries = parts.task->queries(request, parts.data);
  for (std::uint64_t index = 0; index < queries->num_batches(); ++index) {
    const QueryBatch batch = queries->batch(0, index, nullptr).or_throw();
    for (const std::uint64_t id : batch.queries.ids.as<std::uint64_t>()) ids.push_back(id);
  }
  return ids;
}

std::vector<std::uint64_t> ids_between(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = first; id < last; ++id) ids.push_back(id);
  return ids;
}

// As text: figures that are none are the same then.
std::string same_of(const RunReport& report) {
  const nlohmann::json json = to_json(report);
  nlohmann::json continual = json.at("continual");
  continual.erase("from");
  return json.at("batches_xxh3").dump() + json.at("weights_xxh3").dump() +
         json.at("metrics").dump() + continual.dump();
}

}  // namespace

TEST_CASE("new events are divided by themselves, and old ones as they were") {
  GrowingEvents events;
  (void)first_stage(events, GrowingEvents::kModel, {"train.epochs=0"});
  events.append();
  (void)next_stage(events, "first", "second", {"train.epochs=0"});
  events.append();
  (void)next_stage(events, "second", "third", {"train.epochs=0"});
  const RunOptions second = kept_options(events.run_dir("second"), {}, registry());
  CHECK(second.continual.since == std::vector<std::int64_t>{600});
  CHECK(second.continual.from == events.run_dir("first"));
  const RunOptions third = kept_options(events.run_dir("third"), {}, registry());
  CHECK(third.continual.since == std::vector<std::int64_t>{600, 900});
  const auto parts = stage_parts(third);
  CHECK(asked_ids(*parts, Part::kTrain) == ids_between(900, 1110));
  CHECK(asked_ids(*parts, Part::kValid) == ids_between(1110, 1155));
  CHECK(asked_ids(*parts, Part::kTest) == ids_between(1155, 1200));
  CHECK(asked_ids(*parts, Part::kAll) == ids_between(900, 1200));
  {
    const OldEra old(continual_task(*parts));
    const auto two =
        [&](std::uint64_t first, std::uint64_t last, std::uint64_t from, std::uint64_t to) {
          std::vector<std::uint64_t> ids = ids_between(first, last);
          const std::vector<std::uint64_t> later = ids_between(from, to);
          ids.insert(ids.end(), later.begin(), later.end());
          return ids;
        };
    CHECK(asked_ids(*parts, Part::kTrain) == two(0, 420, 600, 810));
    CHECK(asked_ids(*parts, Part::kValid) == two(420, 510, 810, 855));
    CHECK(asked_ids(*parts, Part::kTest) == two(510, 600, 855, 900));
    CHECK(asked_ids(*parts, Part::kAll) == ids_between(0, 900));
    CHECK(parts->count(Part::kTest) == 135);
  }
  CHECK(parts->count(Part::kTest) == 45);
}

TEST_CASE("forgetting is what the old test lost, and nothing where nothing was trained") {
  GrowingEvents events;
  const RunReport first = first_stage(events);
  CHECK(!first.continual);
  events.append();
  const RunReport still = next_stage(events, "first", "still", {"train.epochs=0"});
  REQUIRE(still.continual);
  CHECK(still.continual->stage == 2);
  // Later events change nothing of what the first run was tested by.
  for (const char* name : {"ap", "auc", "loss"}) {
    CAPTURE(name);
    CHECK(still.continual->before.at(name) ==
          doctest::Approx(first.metrics.at(std::string("test.") + name)));
    CHECK(still.continual->after.at(name) == still.continual->before.at(name));
    CHECK(still.continual->forgetting.at(name) == 0);
  }
  const RunReport moved = next_stage(events, "first", "moved");
  REQUIRE(moved.continual);
  const ContinualReport& told = *moved.continual;
  CHECK(told.before.at("ap") == still.continual->before.at("ap"));
  CHECK(told.after.at("loss") != told.before.at("loss"));
  CHECK(told.forgetting.at("ap") == told.before.at("ap") - told.after.at("ap"));
  CHECK(told.forgetting.at("loss") == told.after.at("loss") - told.before.at("loss"));
  const nlohmann::json json = to_json(moved);
  CHECK(json.at("continual").at("forgetting").at("ap") == told.forgetting.at("ap"));
  CHECK(!json.at("continual").contains("replay"));
  CHECK(to_text(moved).find("old test") != std::string::npos);
  // The run that it went on from is as it was.
  Quiet quiet;
  const Error error = expect_error(
      [&] { (void)resume_training(events.run_dir("first"), {"train.epochs=3"}, quiet.context); });
  CHECK(error.code() == ErrorCode::kData);
}

TEST_CASE("learned rows are gone on with, and those of the run before stay") {
  GrowingEvents events;
  const RunReport first = first_stage(
      events, GrowingEvents::kModel, {"train.epochs=1", "embedding.dim=4", "embedding.init=0.3"});
  events.append();
  for (const char* where : {"memory", "disk"}) {
    CAPTURE(where);
    const std::string kept = std::string("storage.embeddings=") + where;
    const RunReport still =
        next_stage(events, "first", std::string("still-") + where, {"train.epochs=0", kept});
    CHECK(still.continual->before.at("ap") == doctest::Approx(first.metrics.at("test.ap")));
    CHECK(still.weights_xxh3 == first.weights_xxh3);
    const RunReport moved = next_stage(
        events, "first", std::string("moved-") + where, {"replay.choose=structure", kept});
    CHECK(moved.weights_xxh3 != first.weights_xxh3);
    CHECK(moved.continual->before.at("ap") == still.continual->before.at("ap"));
  }
}

TEST_CASE("old and new mini-batches come in turns, old ones of the buffer") {
  GrowingEvents events;
  (void)first_stage(events, GrowingEvents::kModel, {"train.epochs=0"});
  events.append();
  for (const char* choose : {"uniform", "structure"}) {
    CAPTURE(choose);
    const RunReport report = next_stage(events,
                                        "first",
                                        choose,
                                        {"train.epochs=1",
                                         std::string("replay.choose=") + choose,
                                         "replay.size=6",
                                         "replay.weight=0.5"});
    REQUIRE(report.continual->replay);
    const ReplayReport& told = *report.continual->replay;
    CHECK(told.choose == choose);
    CHECK(told.nodes == 6);
    CHECK(told.old_nodes == GrowingEvents::kNodes);
    CHECK(told.old_queries == 420);
    CHECK(told.share == doctest::Approx(210. / (210 + 210)));

    const RunOptions options = kept_options(events.run_dir(choose), {}, registry());
    const auto parts = stage_parts(options);
    const auto loader = parts->training_loader({});
    REQUIRE(parts->replay);
    CHECK(parts->replay->queries().size() == told.queries);
    const std::size_t in_batch = std::min<std::size_t>(40, parts->replay->queries().size());
    const std::set<std::uint64_t> nodes(parts->replay->nodes().begin(),
                                        parts->replay->nodes().end());
    CHECK(loader->num_batches() == 12);
    loader->start({});
    std::uint64_t count = 0;
    while (const auto batch = loader->next()) {
      const auto ids = batch->queries.ids.as<std::uint64_t>();
      CHECK(batch->index == count++);
      if (!ReplayMix::is_old(batch->index)) {
        const std::uint64_t first = 600 + 40 * (batch->index / 2);
        CHECK(std::vector<std::uint64_t>(ids.begin(), ids.end()) ==
              ids_between(first, std::min<std::uint64_t>(first + 40, 810)));
        continue;
      }
      CHECK(ids.size() == in_batch);
      CHECK(std::ranges::all_of(ids, [](std::uint64_t id) { return id < 420; }));
      const auto seeds = batch->seeds[0].as<std::uint64_t>();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto end = [&](const Array& rows) {
          return seeds[static_cast<std::size_t>(rows.as<std::int64_t>()[i])];
        };
        CHECK((nodes.contains(end(batch->queries.sources)) ||
               nodes.contains(end(batch->queries.destinations))));
      }
    }
    CHECK(count == 12);
  }
}

TEST_CASE("a step is by the old and the new loss, each with its share") {
  GrowingEvents events;
  const KeySets plain{"train.optimizer.type=sgd", "train.optimizer.lr=0.5", "model.dropout=0.0"};
  (void)first_stage(events, GrowingEvents::kModel, plain);
  events.append();
  // One mini-batch of each: one step.
  (void)next_stage(events,
                   "first",
                   "step",
                   {"train.epochs=1",
                    "train.batch_size=1000",
                    "replay.choose=structure",
                    "replay.size=8",
                    "replay.weight=2"});
  const RunOptions options = kept_options(events.run_dir("step"), {}, registry());
  const auto parts = stage_parts(options);
  start_from(*parts, events.folder / "rows");
  const auto loader = parts->training_loader({});
  REQUIRE(loader->num_batches() == 2);
  loader->start({});
  parts->model->train();
  std::vector<std::shared_ptr<const Batch>> batches;
  for (const double share : {840. / (840 + 210), 210. / (840 + 210)}) {
    batches.push_back(loader->next());
    const Batch& batch = *batches.back();
    const RandomKey key = parts->key().with(0).with(batch.index);
    parts->model->set_step_key(key);
    parts->rows->begin(batch, nn::Gradients::kWanted);
    (share * parts->task->training_loss(*parts->model, batch, key)).backward();
    parts->rows->end();
  }
  parts->optimizer->step();
  const StoredWeights stored = read_weights(events.folder / "step/checkpoints/last.ckpt");
  const NamedTensors expected = parts->weights();
  REQUIRE(stored.tensors.size() == expected.size());
  for (const CheckpointTensor& tensor : stored.tensors) {
    CAPTURE(tensor.name);
    CHECK(torch::allclose(nn::as_tensor(tensor.value), expected.at(tensor.name), 1e-4, 1e-6));
  }
}

TEST_CASE("a run that goes on is the same whole and in parts, from memory and by threads") {
  GrowingEvents events;
  (void)first_stage(events);
  events.append();
  const auto with_replay_of = [](const char* choose, KeySets more) {
    more.insert(more.end(), {std::string("replay.choose=") + choose, "replay.size=8"});
    return more;
  };
  for (const char* choose : {"none", "uniform", "structure"}) {
    CAPTURE(choose);
    const std::string name = choose;
    const RunReport whole =
        next_stage(events, "first", name + "-whole", with_replay_of(choose, {"train.epochs=4"}));
    (void)next_stage(events, "first", name + "-parts", with_replay_of(choose, {"train.epochs=1"}));
    Quiet quiet;
    const RunReport parts =
        resume_training(events.run_dir(name + "-parts"), {"train.epochs=4"}, quiet.context);
    CHECK(same_of(parts) == same_of(whole));
    const RunReport threads = next_stage(
        events,
        "first",
        name + "-threads",
        with_replay_of(
            choose, {"train.epochs=4", "train.data_threads=4", "train.checkpoint_minutes=1e-9"}));
    CHECK(same_of(threads) == same_of(whole));
    const RunReport again = evaluate_run(events.run_dir(name + "-whole"), {}, {}, quiet.context);
    CHECK(again.metrics.at("test.ap") == whole.metrics.at("test.ap"));
  }
}

TEST_CASE("what remembers nodes has seen old events when new ones begin") {
  GrowingEvents events;
  const std::string model = "type = \"tgn\", hidden = 12, dropout = 0.0";
  // Nothing is learned: the old test stays what it was.
  const RunReport first = first_stage(events, model, {"train.optimizer.lr=0.0"});
  events.append();
  const RunReport still = next_stage(events, "first", "still");
  REQUIRE(still.continual);
  CHECK(still.continual->before.at("ap") == doctest::Approx(first.metrics.at("test.ap")));
  CHECK(still.continual->forgetting.at("ap") == 0);

  const RunReport whole = next_stage(events, "first", "whole", {"train.optimizer.lr=0.01"});
  (void)next_stage(events, "first", "parts", {"train.optimizer.lr=0.01", "train.epochs=1"});
  Quiet quiet;
  const RunReport parts =
      resume_training(events.run_dir("parts"), {"train.epochs=2"}, quiet.context);
  CHECK(same_of(parts) == same_of(whole));
  const RunReport again = evaluate_run(events.run_dir("whole"), {}, {}, quiet.context);
  CHECK(again.metrics.at("test.ap") == whole.metrics.at("test.ap"));

  const Error error = expect_error(
      [&] { (void)next_stage(events, "first", "refused", {"replay.choose=uniform"}); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message().find("remembers") != std::string::npos);
}

TEST_CASE("a transformer goes on, with old events asked again") {
  GrowingEvents events;
  const RunReport first = first_stage(
      events, "type = \"tf_tgn\", layers = 1, hidden = 12, heads = 2, feed_forward = 24");
  events.append();
  const RunReport still = next_stage(events, "first", "still", {"train.epochs=0"});
  REQUIRE(still.continual);
  CHECK(still.continual->before.at("ap") == doctest::Approx(first.metrics.at("test.ap")));
  CHECK(still.continual->forgetting.at("ap") == 0);
  const RunReport moved =
      next_stage(events, "first", "moved", {"replay.choose=structure", "replay.size=8"});
  REQUIRE(moved.continual);
  REQUIRE(moved.continual->replay);
  CHECK(moved.continual->replay->nodes == 8);
  CHECK(moved.continual->before.at("ap") == still.continual->before.at("ap"));
  CHECK(moved.weights_xxh3 != first.weights_xxh3);
}

TEST_CASE("nodes that old training asked about are not new to what goes on") {
  GrowingEvents events;
  events.append();
  // 30 new events, of which 21 are trained on: they do not name all nodes. The old ones do.
  Quiet quiet;
  const RunReport report =
      run_training(options_of(events.config(), {"continual.since=[870]", "train.epochs=0"}),
                   RunDirectory::Mode::kNew,
                   quiet.context);
  CHECK(std::isfinite(report.metrics.at("test.ap")));
  CHECK(std::isnan(report.metrics.at("test.ap.new_nodes")));
}

TEST_CASE("appended nodes are new, their parts drawn by number, and old ones replayed") {
  constexpr std::uint64_t kOld = 2000, kNew = 60;
  const TempDir dir;
  generate_dataset(dir / "x");
  Quiet quiet;
  const std::string run_dir = (dir / "run").string();
  const RunReport first = run_training(
      options_of(short_config(dir, dir / "x")), RunDirectory::Mode::kNew, quiet.context);
  const auto old_split = [&] {
    const auto parts = stage_parts(options_of(short_config(dir, dir / "x")));
    return std::vector{asked_ids(*parts, Part::kTrain), asked_ids(*parts, Part::kTest)};
  };
  const auto before = old_split();
  std::ofstream features(dir / "features.csv"), labels(dir / "labels.csv"), edges(dir / "new.csv");
  for (std::uint64_t i = 0; i < kNew; ++i) {
    labels << i % 4 << '\n';
    for (std::uint64_t j = 0; j < 20; ++j) features << i * j % 7 << (j == 19 ? '\n' : ',');
    for (std::uint64_t j = 0; j < 5; ++j)
      edges << kOld + i << ',' << (i * 131 + j * 17) % kOld << '\n';
  }
  features.close();
  labels.close();
  edges.close();
  dir.write("new.toml",
            "csv.header = \"no\"\n[[nodes]]\ncount = 2060\nfeatures = { file = \"features.csv\" }\n"
            "labels = { file = \"labels.csv\" }\n[[edges]]\nfile = \"new.csv\"\n");
  const Outcome grown = run({tool("sluice-prep"),
                             "append",
                             (dir / "x").string(),
                             "--config",
                             (dir / "new.toml").string()});
  REQUIRE_MESSAGE(grown.code == 0, grown.err);

  const RunReport report = continue_training(run_dir,
                                             {"replay.choose=structure", "replay.size=50"},
                                             RunDirectory::Mode::kNew,
                                             quiet.context);
  CHECK(report.run == run_dir + "-2");
  REQUIRE(report.continual);
  REQUIRE(report.continual->replay);
  CHECK(report.continual->replay->nodes == 50);
  CHECK(report.continual->replay->queries == 50);
  CHECK(report.continual->replay->old_nodes == before[0].size());
  CHECK(report.continual->before.contains("accuracy"));
  CHECK(report.continual->forgetting.contains("accuracy"));

  const RunOptions options = kept_options(run_dir + "-2", {}, registry());
  const auto parts = stage_parts(options);
  std::vector<std::uint64_t> fresh;
  for (const Part part : {Part::kTrain, Part::kValid, Part::kTest}) {
    const auto own = asked_ids(*parts, part);
    CHECK(std::ranges::is_sorted(own));
    fresh.insert(fresh.end(), own.begin(), own.end());
  }
  std::ranges::sort(fresh);
  CHECK(fresh == ids_between(kOld, kOld + kNew));
  CHECK(parts->count(Part::kTrain) > kNew / 3);
  CHECK(parts->count(Part::kAll) == kNew);
  const OldEra old(continual_task(*parts));
  CHECK(asked_ids(*parts, Part::kTrain) == before[0]);
  CHECK(asked_ids(*parts, Part::kTest) == before[1]);
  CHECK(parts->count(Part::kAll) == kOld);
}

TEST_CASE("a task without stages, and a run in its own place, are refused before anything") {
  GrowingEvents events;
  (void)first_stage(events, GrowingEvents::kModel, {"train.epochs=0"});
  events.append();
  Quiet quiet;
  const std::string own = events.run_dir("first");
  const Error same = expect_error([&] {
    (void)continue_training(own, {"run.dir=" + own}, RunDirectory::Mode::kReplace, quiet.context);
  });
  CHECK(same.code() == ErrorCode::kUsage);
  CHECK(same.message().find("would replace the one that it goes on from") != std::string::npos);
  CHECK(std::filesystem::exists(events.folder / "first/checkpoints/last.ckpt"));

  std::filesystem::create_directories(events.folder / "links");
  std::ofstream(events.folder / "links/config.resolved.toml")
      << "dataset.path = \"" << (events.folder / "data").string()
      << "\"\nmodel.type = \"graphsage\"\ntask.type = \"link_prediction\"\n";
  const Error links = expect_error([&] {
    (void)continue_training(events.run_dir("links"), {}, RunDirectory::Mode::kNew, quiet.context);
  });
  CHECK(links.code() == ErrorCode::kUsage);
  CHECK(links.message() ==
        "task 'link_prediction' cannot tell what was appended from what was there");
  CHECK(links.hint().find("dataset.follow") != std::string::npos);
  CHECK(!std::filesystem::exists(events.folder / "links-2"));
}

TEST_CASE("what cannot go on says so") {
  GrowingEvents events;
  (void)first_stage(events, GrowingEvents::kModel, {"train.epochs=0"});
  const auto message = [&](const KeySets& sets) {
    return expect_error([&] { (void)next_stage(events, "first", "refused", sets); }).message();
  };
  CHECK(message({}).find("nothing was appended") != std::string::npos);
  events.append();
  CHECK(message({"task.width=9"}).find("task.width") != std::string::npos);
  CHECK(message({"embedding.dim=8"}).find("embedding.dim") != std::string::npos);
  CHECK(message({"replay.choose=uniform", "sampler.visibility=batch_lag"}).find("batch_lag") !=
        std::string::npos);
  Quiet quiet;
  const auto refused = [&](const KeySets& sets) {
    const RunOptions options = options_of(events.config(), sets);
    return expect_error(
               [&] { (void)run_training(options, RunDirectory::Mode::kReplace, quiet.context); })
        .message();
  };
  CHECK(refused({"replay.choose=uniform"}).find("goes on from another") != std::string::npos);
  CHECK(refused({"continual.since=[899]", "task.edge_split=[0.4,0.3,0.3]"})
            .find("leaves none for training") != std::string::npos);
  CHECK(refused({"continual.since=[5000]"}).find("5000") != std::string::npos);
  CHECK(refused({"continual.since=[600]", "task.split_by=time", "task.split_times=[1,2]"})
            .find("split") != std::string::npos);
  const Error order =
      expect_error([&] { (void)options_of(events.config(), {"continual.since=[600, 500]"}); });
  CHECK(order.message().find("ascend") != std::string::npos);
}
