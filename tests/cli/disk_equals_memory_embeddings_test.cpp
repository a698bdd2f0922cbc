// Disk equals memory for learned rows, by the command line: a table of more than five times its
// cache gives the same rows, metrics and mini-batches as one in memory, with any number of data
// threads, with features and edges anywhere, and after kills.
#include "cli/disk_equals_memory.h"
#include "cli/triples.h"

#include <sluice/random.h>

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <thread>

using namespace sluice::test;
using nlohmann::json;

namespace {

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
    }
  }

  SUBCASE("killed again and again, and resumed") {
    const std::uint64_t seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const int wanted = full_matrix() ? 50 : 6;
    std::vector<std::string> sets = disk;
    sets.emplace_back("train.checkpoint_minutes=1e-9");
    std::vector<std::string> command = ground.command(sets);
    int kills = 0;
    for (int attempt = 0; attempt < 20 * wanted; ++attempt) {
      Process process(command);
      const bool begun = attempt != 0;
      if (!begun) wait_for_metric_lines(ground.dir(), 1);
      if (kills < wanted)
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % (begun ? 1200 : 50)));
      if (kills < wanted) process.signal(SIGKILL);
      const Outcome outcome = process.finish();
      if (outcome.code == -SIGKILL) {
        ++kills;
        command = {tool("sluice-train"), "resume", ground.dir().string(), "--json"};
        continue;
      }
      CHECK(results(printed_report(outcome)) == expected);
      CHECK(metric_lines(ground.dir()) == lines);
      CHECK(read_all(ground.dir() / "weights.safetensors") == rows);
      if (kills >= wanted) break;
    }
    CHECK(kills > 0);
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
