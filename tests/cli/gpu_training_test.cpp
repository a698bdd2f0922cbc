// Training on the GPU itself: what it learns, and that the same run gives the same bits again,
// wherever its data is kept and whoever gathers its features. Skipped where there is no GPU.
#define DOCTEST_CONFIG_IMPLEMENT
#include "cli/cora_dataset.h"
#include "cli/imported_graph.h"
#include "cli/train_support.h"
#include "cli/triples.h"

#include <doctest/doctest.h>

#include <cstdio>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;

namespace {

json trained(const std::vector<std::string>& command) {
  const Outcome outcome = test::run(command);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

json on_gpu(const Sandbox& box, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"--json", "--overwrite", "--set", "train.device=cuda"};
  for (const std::string& assignment : more)
    arguments.insert(arguments.end(), {"--set", assignment});
  return trained(box.command(arguments));
}

// The same bits twice, from memory and from disk, gathered by the host and by the GPU.
void check_bits(const std::string& type) {
  const Sandbox box;
  const std::string model = "model.type=" + type;
  const json once = on_gpu(box, {model, "storage.features=memory"});
  CHECK(once.at("device").at("kind") == "cuda");
  CHECK(once.at("device").at("tensors") > 0);
  CHECK(once.at("device").at("tensors") <= once.at("device").at("budget"));
  const json again = on_gpu(box, {model, "storage.features=memory"});
  const json disk = on_gpu(box, {model, "storage.features=disk"});
  CHECK(results(once) == results(again));
  CHECK(results(once) == results(disk));
  for (const char* features : {"storage.features=memory", "storage.features=disk"}) {
    const json gathered = on_gpu(box, {model, features, "train.hash_batches=false"});
    CHECK(gathered.at("weights_xxh3") == once.at("weights_xxh3"));
    CHECK(gathered.at("device").at("pinned") == true);
    CHECK(gathered.at("device").at("gather") == "gpu");
  }
  // Not the CPU's bits, but its batches, and nearly its loss.
  const json cpu =
      trained(box.command({"--json", "--overwrite", "--set", "train.device=cpu", "--set", model}));
  CHECK(cpu.at("batches_xxh3") == once.at("batches_xxh3"));
  const double here = cpu.at("metrics").at("train.loss"),
               there = once.at("metrics").at("train.loss");
  CHECK(there == doctest::Approx(here).epsilon(0.02));
}

}  // namespace

// A case each, so that one that fails, or for which there is no time, leaves the others to be seen.
TEST_CASE("gpu: the same bits from everywhere: graphsage") {
  check_bits("graphsage");
}
TEST_CASE("gpu: the same bits from everywhere: gcn") {
  check_bits("gcn");
}
TEST_CASE("gpu: the same bits from everywhere: gat") {
  check_bits("gat");
}
TEST_CASE("gpu: the same bits from everywhere: gin") {
  check_bits("gin");
}
TEST_CASE("gpu: the same bits from everywhere: mlp") {
  check_bits("mlp");
}

TEST_CASE("gpu: a run that was stopped goes on to the same bits") {
  const Sandbox box;
  const json whole = on_gpu(box, {});
  (void)on_gpu(box, {"train.epochs=1"});
  const json more = trained(
      {tool("sluice-train"), "resume", box.dir().string(), "--json", "--set", "train.epochs=3"});
  CHECK(more.at("weights_xxh3") == whole.at("weights_xxh3"));
}

TEST_CASE("gpu: too small a budget for the GPU is refused") {
  const Sandbox box;
  const Outcome outcome =
      box.run({"--set", "train.device=cuda", "--set", "memory.gpu=\"1MiB\"", "--json"});
  CHECK(outcome.code == 4);
  CHECK(outcome.out.find("[memory] gpu") != std::string::npos);
}

TEST_CASE("gpu: Cora's public split is learned to what the literature says") {
  const TempDir dir;
  const auto data = dir / "cora";
  if (!import_cora(data)) return;
  const std::pair<const char*, double> floors[] = {
      {"gcn", 0.79}, {"graphsage", 0.78}, {"gat", 0.79}};
  for (const auto& [name, floor] : floors) {
    const json report =
        trained({tool("sluice-train"),
                 "run",
                 (source_folder() / "configs" / ("cora-" + std::string(name) + ".toml")).string(),
                 "--json",
                 "--overwrite",
                 "--set",
                 "train.device=cuda",
                 "--set",
                 "dataset.path=" + data.string(),
                 "--set",
                 "run.dir=" + (dir / name).string()});
    const double accuracy = report.at("metrics").at("test.accuracy");
    std::printf("cora %s on the GPU: test.accuracy %.4f\n", name, accuracy);
    CHECK(accuracy >= floor);
  }
}

// The same queries, loss and split as on the CPU; its own bits, twice and from either place.
TEST_CASE("gpu: links on Cora are predicted, with the same bits from memory and disk") {
  const TempDir dir;
  const auto data = dir / "cora";
  if (!import_cora(data)) return;
  const auto links = [&](const char* features) {
    return trained({tool("sluice-train"),
                    "run",
                    (source_folder() / "configs" / "cora-link.toml").string(),
                    "--json",
                    "--overwrite",
                    "--set",
                    "train.device=cuda",
                    "--set",
                    "dataset.path=" + data.string(),
                    "--set",
                    "run.dir=" + (dir / "links").string(),
                    "--set",
                    std::string("storage.features=") + features});
  };
  const json memory = links("memory"), disk = links("disk");
  CHECK(memory.at("device").at("kind") == "cuda");
  CHECK(results(memory) == results(disk));
  const double auc = memory.at("metrics").at("test.auc"), ap = memory.at("metrics").at("test.ap");
  std::printf("cora links on the GPU: test.auc %.4f, test.ap %.4f\n", auc, ap);
  CHECK(auc >= 0.90);
  CHECK(ap >= 0.90);
}

// Rows are kept on the GPU, or go there for each mini-batch and their gradients come back: the
// kernels of both processors give the same bits.
TEST_CASE("gpu: learned rows have the same bits twice, from memory and from disk") {
  const Triples ground(2000);
  const auto rows = [&](std::vector<std::string> sets) {
    sets.insert(sets.end(), {"train.device=cuda", "task.ranking=all"});
    return trained(ground.command(sets));
  };
  for (const std::string optimizer : {"adagrad", "adagrad_row", "adam"}) {
    CAPTURE(optimizer);
    const std::string by = "embedding.optimizer=" + optimizer;
    const json once = rows({by, "storage.embeddings=memory"});
    CHECK(once.at("device").at("learned_rows") > 0);
    CHECK(results(rows({by, "storage.embeddings=memory"})) == results(once));
    const json disk = rows({by, "storage.embeddings=disk"});
    CHECK_FALSE(disk.at("device").contains("learned_rows"));
    CHECK(results(disk) == results(once));
  }
  const std::vector<std::string> all{"task.loss=all", "task.decoder=complex"};
  CHECK(results(rows(all)) == results(rows(all)));
}

TEST_CASE("gpu: a run of learned rows that was stopped goes on to the same bits") {
  const Triples ground(2000);
  const json whole = trained(ground.command({"train.device=cuda", "train.epochs=4"}));
  (void)trained(ground.command({"train.device=cuda", "train.epochs=2"}));
  const json more = trained(
      {tool("sluice-train"), "resume", ground.dir().string(), "--json", "--set", "train.epochs=4"});
  CHECK(results(more) == results(whole));
}

TEST_CASE("gpu: UMLS is learned to what the literature says, twice to the same bits") {
  const TempDir dir;
  const auto data = import_graph(dir, "umls-graph.toml", "umls");
  if (!data) return;
  const auto run_config = [&] {
    return trained({tool("sluice-train"),
                    "run",
                    (source_folder() / "configs" / "umls-complex.toml").string(),
                    "--json",
                    "--overwrite",
                    "--set",
                    "train.device=cuda",
                    "--set",
                    "dataset.path=" + data->string(),
                    "--set",
                    "run.dir=" + (dir / "run").string()});
  };
  const json report = run_config();
  const double mrr = report.at("metrics").at("test.mrr");
  std::printf("umls complex on the GPU: test.mrr %.4f, %.2f s\n",
              mrr,
              report.at("seconds").at("total").get<double>());
  CHECK(mrr >= 0.90);
  CHECK(report.at("device").at("learned_rows") > 0);
  CHECK(results(run_config()) == results(report));
}

int main(int argc, char** argv) {
  const Sandbox box;
  const Outcome probe = box.run({"--dry-run", "--set", "train.device=cuda"});
  if (probe.code != 0) {
    std::printf("skipped: %s\n", probe.err.c_str());
    return std::getenv("SLUICE_REQUIRE_GPU") == nullptr ? 77 : 1;
  }
  return doctest::Context(argc, argv).run();
}
