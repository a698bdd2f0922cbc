// A folder with a made-up knowledge graph and a config that learns a row a node, for tests of
// sluice-train.
#pragma once

#include "cli/train_support.h"  // IWYU pragma: export
#include "support/process.h"

#include <sluice/random.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace sluice::test {

/// Triples whose ends are far apart: 3000 over 50 relations, some of them for validation and test.
class Triples {
 public:
  static constexpr std::uint64_t kNodes = 24000;
  static constexpr std::uint32_t kDim = 64;
  static constexpr double kInit = 0.3;

  explicit Triples(std::uint64_t nodes = kNodes) {
    const RandomKey key(31);
    std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> seen;
    std::array<std::string, 3> files;
    for (std::uint64_t n = 0; seen.size() < 3000; ++n) {
      const std::uint64_t head = key.below(nodes, 3 * n), relation = key.below(50, 3 * n + 1);
      const std::uint64_t tail = key.below(nodes, 3 * n + 2);
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
                    nodes));
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
                            kDim,
                            kInit));
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

}  // namespace sluice::test
