// A run whose model is too large for its budget is refused by what is counted, before it is made.
#include "support/expect_error.h"
#include "train/model_size.h"
#include "train/support.h"

#include "support/own_graph.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace sluice;
using namespace sluice::test;

namespace {

std::string large_config(const TempDir& dir) {
  return "dataset.path = \"" + (dir / "d").string() + "\"\nrun.dir = \"" + (dir / "run").string() +
         "\"\nmemory.host = \"128MiB\"\nmodel = { type = \"graphsage\", hidden = 16 }\n"
         "[train]\nepochs = 1\ncompute_threads = 1\n";
}

OwnGraph with_class(const std::string& largest) {
  OwnGraph graph;
  for (std::string& label : graph.labels) label = label == "0" ? "10" : largest;
  return graph;
}

std::string size_in_hint(const Error& error) {
  const std::string before = "set [memory] host to at least \"";
  REQUIRE(error.hint().find(before) == 0);
  return error.hint().substr(before.size(), error.hint().find('"', before.size()) - before.size());
}

Error refusal(const RunOptions& options) {
  const auto log = make_silent_logger();
  return expect_error([&] { (void)plan_run(options, {}, *log); });
}

}  // namespace

TEST_CASE("a model counted by its shapes has the bytes of the one that is built") {
  const TempDir dir;
  OwnGraph{}.import(dir, dir / "d");
  const std::vector<std::vector<std::string>> models{
      {"model.type=graphsage", "model.norm=batch", "train.optimizer.type=adamw"},
      {"model.type=graphsage", "model.aggregator=max", "model.combine=concat"},
      {"model.type=gcn", "model.residual=true", "train.optimizer.type=sgd"},
      {"model.type=gat", "model.norm=layer", "model.output_heads=2"},
      {"model.type=gin", "train.optimizer={ type = \"sgd\", momentum = 0.9 }"},
      {"model.type=mlp"}};
  for (const auto& sets : models) {
    CAPTURE(sets[0]);
    const RunOptions options = options_of(large_config(dir), sets);
    const Dataset dataset = Dataset::open(options.dataset.path);
    const auto size = size_of_model(options, dataset.schema(), {});
    REQUIRE(size);
    const Parts parts(options,
                      RunDevice{},
                      std::make_shared<MemoryLedger>(),
                      {Placement::kMemory, Placement::kMemory});
    std::uint64_t weights = 0, state = 0;
    for (const auto& [name, tensor] : parts.weights()) weights += tensor.nbytes();
    for (const auto& [name, tensor] : parts.optimizer->named_state()) state += tensor.nbytes();
    CHECK(size->weights == weights);
    CHECK(size->optimizer == state);
    CHECK(size->outputs == 2);
    CHECK(size->hidden == 16);
    CHECK(size->output_rows == 12);  // six seeds, and as many gradients
  }
}

TEST_CASE("classes that are numbers of something are refused at once, and named") {
  const TempDir dir;
  with_class("7650000").import(dir, dir / "d");
  for (const std::string& model : names_with(registry().models, "input_dropout")) {
    CAPTURE(model);
    const auto begin = std::chrono::steady_clock::now();
    const Error error = refusal(options_of(large_config(dir), {"model.type=" + model}));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
    CHECK(error.code() == ErrorCode::kResource);
    CHECK(error.message().find(
              "the run does not fit in [memory] host = 128 MiB; it needs about\n") == 0);
    CHECK(error.message().find("7,650,001 outputs (classes)") != std::string::npos);
    CHECK(error.message().find("labels.kind = \"name\"") != std::string::npos);
    CHECK(error.hint().find("labels.kind = \"name\"") != std::string::npos);
    for (const char* line : {"model and optimizer", "best weights", "tensors of a step", "total"})
      CHECK(error.message().find(line) != std::string::npos);
    CHECK(parse_bytes(size_in_hint(error)).or_throw().bytes > kGiB / 2);
  }
}

TEST_CASE("the amount in the refusal of a large model is enough, and not far from the least") {
  const TempDir dir;
  const auto log = make_silent_logger();
  const auto check = [&](const std::vector<std::string>& sets) {
    CAPTURE(sets.back());
    const Error error = refusal(options_of(large_config(dir), sets));
    CHECK(error.message().find("it needs about\n") != std::string::npos);
    const std::string size = size_in_hint(error);
    std::vector<std::string> enough = sets;
    enough.push_back("memory.host=" + size);
    const PlannedRun run = plan_run(options_of(large_config(dir), enough), {}, *log);
    CHECK(run.plan.fits());
    CHECK(parse_bytes(size).or_throw().bytes < 3 * run.plan.least);
  };
  with_class("500000").import(dir, dir / "d");
  check({"model.type=graphsage"});
  check({"model.type=gcn", "memory.host=96MiB", "train.optimizer.type=sgd"});
  OwnGraph{}.import(dir, dir / "d");
  check({"sampler.fanout=[5, 5, 5]", "model.layers=3", "model.hidden=2400"});
}

TEST_CASE("a refusal names what makes the run large: hidden columns, or the largest part") {
  const TempDir dir;
  OwnGraph{}.import(dir, dir / "d");
  const Error hidden = refusal(options_of(
      large_config(dir), {"sampler.fanout=[5, 5, 5]", "model.layers=3", "model.hidden=100000"}));
  CHECK(hidden.code() == ErrorCode::kResource);
  CHECK(hidden.message().find("model.hidden = 100,000") != std::string::npos);
  CHECK(hidden.hint().find("lower model.hidden") != std::string::npos);
  const Error small = refusal(options_of(large_config(dir), {"memory.host=1MiB"}));
  CHECK(small.message().find("it needs\n") != std::string::npos);
  CHECK(small.message().find("the largest part is '") != std::string::npos);
  const Error threads =
      refusal(options_of(large_config(dir), {"memory.host=1MiB", "train.data_threads=4000"}));
  INFO(threads.message());
  CHECK(threads.message().find("the largest part is 'sampler workspace'") != std::string::npos);
  CHECK(threads.hint().find("lower train.data_threads, of which there are 4000") !=
        std::string::npos);
}
