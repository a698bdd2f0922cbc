// A made-up graph of typed links and a config that trains its rows by partitions, for tests of
// sluice-train.
#pragma once

#include "cli/disk_equals_memory.h"
#include "cli/train_support.h"

#include <sluice/random.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::test {

inline constexpr std::uint64_t kPartitionedEntities = 6000;

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
  std::filesystem::path folder() const { return temp_.path(); }

  std::vector<std::string> command(const std::vector<std::string>& sets) const {
    std::vector<std::string> all{
        tool("sluice-train"), "run", (temp_ / "run.toml").string(), "--json", "--overwrite"};
    for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
    return all;
  }

  nlohmann::json report(const std::vector<std::string>& sets) const {
    const Outcome outcome = run(command(sets));
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return nlohmann::json::parse(outcome.out);
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

/// A run of rows on disk that is killed so often, at any moments, and resumed, ends as one in
/// memory that nobody stopped. One that ends before is compared too; then, with SLUICE_FULL_MATRIX,
/// another begins, until there were as many kills as wanted.
inline void check_killed_again(const PartitionGround& ground,
                               const std::vector<std::string>& sets,
                               int wanted) {
  const auto with = [&sets](std::vector<std::string> more) {
    more.insert(more.end(), sets.begin(), sets.end());
    return more;
  };
  const nlohmann::json expected = results(ground.report(with({"storage.embeddings=memory"})));
  const std::string lines = metric_lines(ground.dir()), rows = ground.rows();
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const std::vector<std::string> first =
      ground.command(with({"storage.embeddings=disk", "train.checkpoint_minutes=1e-9"}));
  const std::vector<std::string> next{
      tool("sluice-train"), "resume", ground.dir().string(), "--json"};
  const int least = full_matrix() ? wanted : 1;
  int kills = 0, ended = 0;
  bool begun = false;
  for (int attempt = 0; attempt < 20 * wanted && (ended == 0 || kills < least); ++attempt) {
    if (!begun) std::filesystem::remove_all(ground.dir());  // of the run before
    Process process(begun ? next : first);
    if (!begun) wait_for_metric_lines(ground.dir(), 1);
    if (kills < wanted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % (begun ? 1500 : 50)));
      process.signal(SIGKILL);
    }
    const Outcome outcome = process.finish();
    begun = outcome.code == -SIGKILL;
    if (begun) {
      ++kills;
      continue;
    }
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    CHECK(results(nlohmann::json::parse(outcome.out)) == expected);
    CHECK(metric_lines(ground.dir()) == lines);
    CHECK(ground.rows() == rows);
    ++ended;
  }
  CHECK(ended > 0);
  CHECK(kills >= least);
}

}  // namespace sluice::test
