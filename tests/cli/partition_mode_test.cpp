// Partition mode by the command line: rows on disk, a few partitions of them in memory, are those
// of a run in memory that goes the same way, whatever the order, the threads and the kills; what
// it says of itself, and what it refuses.
#include "cli/disk_equals_memory.h"

#include <sluice/random.h>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <random>
#include <set>
#include <thread>
#include <utility>

using namespace sluice::test;
using nlohmann::json;

namespace {

constexpr std::uint64_t kPartitionedEntities = 6000;

// Typed links, a tenth of them for validation and a tenth for testing.
class PartitionGround {
 public:
  PartitionGround() {
    const sluice::RandomKey key(77);
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    std::array<std::string, 3> files;
    for (std::uint64_t n = 0; seen.size() < 12000; ++n) {
      const std::uint64_t head = key.below(kPartitionedEntities, 3 * n),
                          tail = key.below(kPartitionedEntities, 3 * n + 1);
      if (!seen.emplace(head, tail).second) continue;
      const std::size_t part = seen.size() % 10 == 0 ? 1 : seen.size() % 10 == 1 ? 2 : 0;
      files[part] += fmt::format("{}\tr{}\t{}\n", head, key.below(4, 3 * n + 2), tail);
    }
    temp_.write("train.txt", files[0]);
    temp_.write("valid.txt", files[1]);
    temp_.write("test.txt", files[2]);
    const auto graph = temp_.write(
        "graph.toml",
        fmt::format("[[nodes]]\ntype = \"entity\"\ncount = {}\n[[edges]]\nfile = \"train.txt\"\n"
                    "format = \"triples\"\ntype_column = \"relation\"\ntypes = \"labels\"\n"
                    "source_column = \"head\"\ntarget_column = \"tail\"\n[[splits]]\n"
                    "of = \"edges\"\nvalid = \"valid.txt\"\ntest = \"test.txt\"\n"
                    "format = \"triples\"\n",
                    kPartitionedEntities));
    const Outcome made =
        run({tool("sluice-prep"), "import", "--config", graph, "--out", temp_ / "data"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    temp_.write(
        "run.toml",
        fmt::format("dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"192MiB\"\n"
                    "model.type = \"embedding\"\n[embedding]\ndim = 64\ninit = 0.3\n"
                    "mode = \"partitions\"\n[task]\ntype = \"link_prediction\"\nwidth = 64\n"
                    "decoder = \"distmult\"\nends = \"both\"\nloss = \"softmax\"\n"
                    "negatives = 16\nshare = true\neval_negatives = 20\n"
                    "[train]\nepochs = 2\nbatch_size = 64\ncompute_threads = 1\n"
                    "checkpoint_every = 0\n[eval]\nbatch_size = 256\n",
                    (temp_ / "data").string(),
                    dir().string()));
  }

  std::filesystem::path dir() const { return temp_ / "run"; }

  std::vector<std::string> command(const std::vector<std::string>& sets) const {
    std::vector<std::string> all{
        tool("sluice-train"), "run", (temp_ / "run.toml").string(), "--json", "--overwrite"};
    for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
    return all;
  }

  json report(const std::vector<std::string>& sets) const {
    const Outcome outcome = run(command(sets));
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return json::parse(outcome.out);
  }
  std::string rows() const { return read_all(dir() / "weights.safetensors"); }

  std::string refusal(const std::vector<std::string>& sets, int code) const {
    const Outcome outcome = run(command(sets));
    CHECK(outcome.code == code);
    return outcome.err;
  }

 private:
  TempDir temp_;
};

}  // namespace

TEST_CASE("partitions on disk are a run in memory that goes the same way") {
  const PartitionGround ground;
  for (const char* order : {"beta", "comet", "sequential", "legend", "auto"}) {
    CAPTURE(order);
    const std::string set = std::string("embedding.order=") + order;
    const json memory = ground.report({set, "storage.embeddings=memory"});
    const std::string rows = ground.rows();
    const json disk = ground.report({set, "storage.embeddings=disk", "train.data_threads=3"});
    CHECK(results(disk) == results(memory));
    CHECK(ground.rows() == rows);
    CHECK(disk.at("approximate") == "partition mode");
    const json& of = disk.at("partitions");
    CHECK(of.at("slots") == (std::string(order) == "comet" ? 6 : 5));
    CHECK(of.at("bytes_read").get<std::uint64_t>() > 0);
    CHECK(of.at("bytes_written").get<std::uint64_t>() > 0);
    if (std::string(order) == "beta") CHECK(of.at("swaps") == 2 * 42);
    CHECK(memory.at("partitions").at("swaps") == 0);
  }
}

TEST_CASE("partitions: an exact run goes another way, and says nothing of them") {
  const PartitionGround ground;
  const json exact = ground.report({"embedding.mode=exact"});
  CHECK_FALSE(exact.contains("approximate"));
  CHECK_FALSE(exact.contains("partitions"));
  CHECK(results(exact) != results(ground.report({})));
}

TEST_CASE("partitions: killed again and again, and resumed") {
  const PartitionGround ground;
  const json expected = results(ground.report({"storage.embeddings=memory"}));
  const std::string lines = metric_lines(ground.dir()), rows = ground.rows();
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const int wanted = full_matrix() ? 50 : 5;
  std::vector<std::string> command =
      ground.command({"storage.embeddings=disk", "train.checkpoint_minutes=1e-9"});
  int kills = 0;
  for (int attempt = 0; attempt < 20 * wanted; ++attempt) {
    Process process(command);
    const bool begun = attempt != 0;
    if (!begun) wait_for_metric_lines(ground.dir(), 1);
    if (kills < wanted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % (begun ? 1500 : 50)));
      process.signal(SIGKILL);
    }
    const Outcome outcome = process.finish();
    if (outcome.code == -SIGKILL) {
      ++kills;
      command = {tool("sluice-train"), "resume", ground.dir().string(), "--json"};
      continue;
    }
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    CHECK(results(json::parse(outcome.out)) == expected);
    CHECK(metric_lines(ground.dir()) == lines);
    CHECK(ground.rows() == rows);
    break;
  }
  CHECK(kills > 0);
}

TEST_CASE("partitions: the run says that it is approximate; evaluate, embed and a dry run know") {
  const PartitionGround ground;
  const Outcome trained = run(ground.command({"storage.embeddings=disk"}));
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  CHECK(trained.err.find("approximate: partition mode") != std::string::npos);
  const json first =
      json::parse(read_all(ground.dir() / "metrics.jsonl")
                      .substr(0, read_all(ground.dir() / "metrics.jsonl").find('\n')));
  CHECK(first.at("partitions").at("swaps") == 42);
  const Outcome evaluated = train({"evaluate", ground.dir().string(), "--part", "test", "--json"});
  REQUIRE_MESSAGE(evaluated.code == 0, evaluated.err);
  const json of = json::parse(evaluated.out);
  CHECK(of.at("approximate") == "partition mode");
  CHECK(of.at("metrics").at("test.mrr") == json::parse(trained.out).at("metrics").at("test.mrr"));
  std::vector<std::string> asked = ground.command({"storage.embeddings=disk"});
  asked.emplace_back("--dry-run");
  const Outcome dry = run(asked);
  REQUIRE_MESSAGE(dry.code == 0, dry.err);
  const json split = json::parse(dry.out).at("memory").at("split");
  CHECK(split.at("embedding partitions").get<std::uint64_t>() >
        kPartitionedEntities * 512 * 5 / 16);
  CHECK(split.at("edge buckets").get<std::uint64_t>() > 0);
}

TEST_CASE("partitions: what cannot be trained by them is refused, with what to do") {
  const PartitionGround ground;
  const auto says = [](const std::string& said, const std::string& what) {
    CHECK_MESSAGE(said.find(what) != std::string::npos, said);
  };
  says(ground.refusal({"task.loss=all"}, 2), "task.loss = \"softmax\"");
  says(ground.refusal({"model.type=graphsage"}, 2), "reads neighbours");
  says(ground.refusal({"dataset.follow=true"}, 2), "dataset.follow = false");
  says(ground.refusal({"embedding.slots=1"}, 2), "embedding.slots");
  says(ground.refusal({"embedding.order=circle"}, 2), "beta");
  // Of the smallest budget 15 of 16 partitions and links are a part that it cannot be without.
  says(ground.refusal({"storage.embeddings=disk", "embedding.slots=14", "memory.host=2MiB"}, 4),
       "embedding partitions");
}
