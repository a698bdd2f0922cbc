// Disk equals memory for learned rows, by the command line: a table of more than five times its
// cache gives the same rows, metrics and mini-batches as one in memory, with any number of data
// threads, with features and edges anywhere, and after kills: values, and what their optimizer
// keeps.
#include "cli/disk_equals_memory.h"
#include "cli/triples.h"

#include <sluice/embedding_table.h>
#include <sluice/random.h>
#include <sluice/registry.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

// All rows of a run that has ended, as its last checkpoint has them: values and sums of squares.
std::vector<float> rows_and_state(const Triples& ground) {
  sluice::EmbeddingTableOptions options;
  options.folder = ground.dir() / "checkpoints/rows/entity";
  options.rows = Triples::kNodes;
  options.dim = Triples::kDim;
  options.initial.kind = sluice::InitialRows::Kind::kUniform;
  options.initial.scale = Triples::kInit;
  options.initial.seed = sluice::RandomKey(1).with("rows").with("entity").draw(0);
  options.optimizer = sluice::builtin_sparse_optimizers().make("adagrad", "");
  options.partitions = options.partition_slots = 1;
  options.access = sluice::TableAccess::kRead;
  const auto table = sluice::open_embedding_table(options);
  table->load(0);
  const sluice::PartitionRows all = table->partition(0);
  REQUIRE(all.count == Triples::kNodes);
  REQUIRE(all.stride == 2 * Triples::kDim);
  return {all.data.begin(), all.data.begin() + static_cast<std::ptrdiff_t>(all.count * all.stride)};
}

bool same_rows(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

json printed_report(const Outcome& outcome) {
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

// Of an epoch's figures.
json first_line(const std::filesystem::path& run_dir) {
  const std::string lines = read_all(run_dir / "metrics.jsonl");
  return json::parse(lines.substr(0, lines.find('\n')));
}

}  // namespace

TEST_CASE("disk equals memory for learned rows") {
  const Triples ground;
  const json reference = printed_report(run(ground.command({"storage.embeddings=memory"})));
  CHECK(reference.at("storage").at("embeddings") == "memory");
  const json expected = results(reference);
  const std::string lines = metric_lines(ground.dir());
  CHECK(first_line(ground.dir()).at("rows").at("bytes_read") == 0);  // checkpoints are written
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
      if (more.back() != "memory.host=256MiB")
        CHECK(first_line(ground.dir()).at("rows").at("bytes_read") > 0);
      CHECK(read_all(ground.dir() / "weights.safetensors") == rows);
      CHECK(same_rows(rows_and_state(ground), all));
    }
  }

  SUBCASE("where rows of many mini-batches come together") {
    const std::string knob = "memory.host=";
    const std::uint64_t mib = std::stoull(least.substr(knob.size()));
    std::uint64_t together = 0;
    for (const std::uint64_t more : {3u, 6u, 9u}) {
      CAPTURE(more);
      const std::vector<std::string> sets{"storage.embeddings=disk",
                                          fmt::format("{}{}MiB", knob, mib + more)};
      std::vector<std::string> planned = ground.command(sets);
      planned.emplace_back("--dry-run");
      const json plan = printed_report(run(planned));
      if (plan.at("memory").at("split").contains("mini-batches ahead")) ++together;
      CHECK(results(printed_report(run(ground.command(sets)))) == expected);
      CHECK(metric_lines(ground.dir()) == lines);
      CHECK(read_all(ground.dir() / "weights.safetensors") == rows);
      CHECK(same_rows(rows_and_state(ground), all));
    }
    CHECK(together > 0);
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
