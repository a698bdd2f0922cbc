// Disk equals memory for learned rows, by the command line: a table of more than five times its
// cache gives the same rows, metrics and mini-batches as one in memory, with any number of data
// threads, with features and edges anywhere, and after kills: values, and what their optimizer
// keeps.
#include "cli/disk_equals_memory.h"

#include <sluice/embedding_table.h>
#include <sluice/random.h>
#include <sluice/registry.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

constexpr std::uint64_t kFarNodes = 20000;
constexpr std::uint32_t kFarDim = 64;
constexpr double kFarInit = 0.3;

// Triples whose ends are far apart: 60 for each of 50 relations, some of them for validation.
class Triples {
 public:
  Triples() {
    const sluice::RandomKey key(31);
    std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> seen;
    std::array<std::string, 3> files;
    for (std::uint64_t n = 0; seen.size() < 3000; ++n) {
      const std::uint64_t head = key.below(kFarNodes, 3 * n), relation = key.below(50, 3 * n + 1);
      const std::uint64_t tail = key.below(kFarNodes, 3 * n + 2);
      if (!seen.emplace(head, relation, tail).second) continue;
      const std::size_t part = seen.size() % 10 == 0 ? 1 : seen.size() % 10 == 1 ? 2 : 0;
      files[part] += fmt::format("{}\tr{}\t{}\n", head, relation, tail);
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
                    kFarNodes));
    const Outcome made =
        run({tool("sluice-prep"), "import", "--config", graph, "--out", temp_ / "data"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
    temp_.write("run.toml",
                fmt::format("dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"256MiB\"\n"
                            "model.type = \"embedding\"\nembedding = {{ dim = {}, init = {} }}\n"
                            "[task]\ntype = \"link_prediction\"\nwidth = 64\n"
                            "decoder = \"distmult\"\nends = \"both\"\nloss = \"softmax\"\n"
                            "negatives = 16\nshare = true\neval_negatives = 20\n"
                            "[train]\nepochs = 3\nbatch_size = 32\ncompute_threads = 1\n"
                            "checkpoint_every = 0\n[eval]\nbatch_size = 32\n",
                            (temp_ / "data").string(),
                            dir().string(),
                            kFarDim,
                            kFarInit));
  }

  std::filesystem::path dir() const { return temp_ / "run"; }
  std::filesystem::path folder() const { return temp_.path(); }

  std::vector<std::string> command(const std::vector<std::string>& sets) const {
    std::vector<std::string> all{
        tool("sluice-train"), "run", (temp_ / "run.toml").string(), "--json", "--overwrite"};
    for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
    return all;
  }

  /// "memory.host=..." of the smallest budget that works on disk, by what is said of one of a MiB.
  std::string least_budget() const {
    std::vector<std::string> asked = command({"storage.embeddings=disk", "memory.host=1MiB"});
    asked.emplace_back("--dry-run");
    const Outcome refused = run(asked);
    REQUIRE(refused.code == 4);
    const std::string said = "set [memory] host to at least \"";
    const auto at = refused.err.find(said);
    REQUIRE_MESSAGE(at != std::string::npos, refused.err);
    const auto from = at + said.size();
    return "memory.host=" + refused.err.substr(from, refused.err.find('"', from) - from);
  }

 private:
  TempDir temp_;
};

// All rows of a run that has ended, as its last checkpoint has them: values and sums of squares.
std::vector<float> rows_and_state(const Triples& ground) {
  sluice::EmbeddingTableOptions options;
  options.folder = ground.dir() / "checkpoints/rows/entity";
  options.rows = kFarNodes;
  options.dim = kFarDim;
  options.initial.kind = sluice::InitialRows::Kind::kUniform;
  options.initial.scale = kFarInit;
  options.initial.seed = sluice::RandomKey(1).with("rows").with("entity").draw(0);
  options.optimizer = sluice::builtin_sparse_optimizers().make("adagrad", "");
  options.partitions = options.partition_slots = 1;
  options.access = sluice::TableAccess::kRead;
  const auto table = sluice::open_embedding_table(options);
  table->load(0);
  const sluice::PartitionRows all = table->partition(0);
  REQUIRE(all.count == kFarNodes);
  REQUIRE(all.stride == 2 * kFarDim);
  return {all.data.begin(), all.data.begin() + static_cast<std::ptrdiff_t>(all.count * all.stride)};
}

bool same_rows(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

json printed_report(const Outcome& outcome) {
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE("disk equals memory for learned rows") {
  const Triples ground;
  const json reference = printed_report(run(ground.command({"storage.embeddings=memory"})));
  CHECK(reference.at("storage").at("embeddings") == "memory");
  const json expected = results(reference);
  const std::string lines = metric_lines(ground.dir());
  const std::string rows = read_all(ground.dir() / "weights.safetensors");
  const std::vector<float> all = rows_and_state(ground);
  const std::string least = ground.least_budget();
  const std::vector<std::string> disk{"storage.embeddings=disk", least};
  std::vector<std::string> asked = ground.command(disk);
  asked.emplace_back("--dry-run");
  const json dry = printed_report(run(asked));
  const json& learned = dry.at("learned_rows");
  CHECK(learned.at("in") == "disk");
  CHECK(learned.at("disk_bytes").get<std::uint64_t>() >=
        5 * learned.at("cache_bytes").get<std::uint64_t>());

  SUBCASE("whatever the threads, the window and the engine") {
    const std::vector<std::vector<std::string>> ways{
        {"train.data_threads=1", "storage.window=1"},
        {"train.data_threads=4", "storage.topology=disk"},
        {"storage.io=pread"},
        {"train.checkpoint_every=1", "memory.host=256MiB"}};
    for (const std::vector<std::string>& more : ways) {
      CAPTURE(more.front());
      std::vector<std::string> sets = disk;
      sets.insert(sets.end(), more.begin(), more.end());
      const json report = printed_report(run(ground.command(sets)));
      CHECK(report.at("storage").at("embeddings") == "disk");
      CHECK(results(report) == expected);
      CHECK(metric_lines(ground.dir()) == lines);
      CHECK(read_all(ground.dir() / "weights.safetensors") == rows);
      CHECK(same_rows(rows_and_state(ground), all));
    }
  }

  SUBCASE("killed again and again, and resumed") {
    const std::uint64_t seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const int wanted = full_matrix() ? 50 : 6;
    std::vector<std::string> sets = disk;
    sets.emplace_back("train.checkpoint_minutes=1e-9");  // after each mini-batch
    const std::vector<std::string> begin = ground.command(sets);
    // Moments are drawn from all that such a run takes here.
    const auto before = std::chrono::steady_clock::now();
    (void)printed_report(run(begin));
    const auto longest =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::steady_clock::now() - before)
                                       .count());
    std::vector<std::string> command = begin;
    std::set<std::pair<std::ptrdiff_t, long>>
        resumed;  // lines of metrics, mini-batches of an epoch
    int kills = 0;
    for (int attempt = 0; attempt < 20 * wanted; ++attempt) {
      Process process(command);
      if (kills < wanted) {
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % (longest + 1)));
        process.signal(SIGKILL);
      }
      const Outcome outcome = process.finish();
      if (const long after = resumed_after(outcome.err); after >= 0)
        resumed.emplace(metric_lines_of(ground.dir()), after);
      if (outcome.code == -SIGKILL) {
        ++kills;
        if (std::filesystem::exists(ground.dir() / "config.resolved.toml"))
          command = {tool("sluice-train"), "resume", ground.dir().string(), "--json"};
        continue;
      }
      // It came to its end: as if nothing had happened. With kills left, another begins.
      CHECK(results(printed_report(outcome)) == expected);
      CHECK(metric_lines(ground.dir()) == lines);
      CHECK(read_all(ground.dir() / "weights.safetensors") == rows);
      CHECK(same_rows(rows_and_state(ground), all));
      if (kills >= wanted) break;
      command = begin;
    }
    CHECK(kills == wanted);
    CHECK(resumed.size() > 1);
  }

  SUBCASE("what was trained is written the same by embed and export") {
    const auto files = [&](const std::string& name) {
      const std::filesystem::path out = ground.folder() / name;
      for (const auto& command :
           {std::vector<std::string>{"embed", ground.dir(), "--out", out.string() + ".npy"},
            std::vector<std::string>{
                "export", ground.dir(), "--out", out.string() + ".safetensors"}}) {
        const Outcome outcome = train(command);
        REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
      }
      return read_all(out.string() + ".npy") + read_all(out.string() + ".safetensors");
    };
    const std::string memory = files("memory");  // the run that is there
    (void)printed_report(run(ground.command(disk)));
    CHECK(files("disk") == memory);
  }
}
