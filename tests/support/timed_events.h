// A folder with a made-up list of events with times and features, imported, and a config that
// trains a model that remembers nodes over it.
#pragma once

#include "support/process.h"
#include "support/temp_dir.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice::test {

class TimedEvents {
 public:
  static constexpr std::uint64_t kNodes = 60, kEvents = 900;

  /// @param nodes of whom the events are between the first kNodes
  explicit TimedEvents(std::uint64_t nodes = kNodes) {
    std::string text = "src,dst,time,size,tone\n";
    std::int64_t now = 1'000'000;
    for (std::uint64_t e = 0; e < kEvents; ++e) {
      const RandomKey own = key_of(e);
      now += static_cast<std::int64_t>(own.below(3, 0));
      // Everybody meets few others, again and again.
      const std::uint64_t from = own.below(kNodes, 1);
      const std::uint64_t to = (from + 1 + own.below(4, 2) * own.below(4, 3)) % kNodes;
      text += fmt::format("{},{},{},{},{}\n", from, to, now, size_of(e), tone_of(e));
    }
    temp_.write("events.csv", text);
    const auto graph = temp_.write(
        "graph.toml",
        fmt::format("[[nodes]]\ntype = \"person\"\ncount = {}\n[[edges]]\nrelation = \"meets\"\n"
                    "file = \"events.csv\"\nsource_column = \"src\"\ntarget_column = \"dst\"\n"
                    "time_column = \"time\"\nreverse = \"is_met\"\n"
                    "features = {{ columns = [\"size\", \"tone\"] }}\n",
                    nodes));
    const Outcome made =
        run({tool("sluice-prep"), "import", "--config", graph, "--out", temp_ / "data"});
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }

  std::filesystem::path folder() const { return temp_.path(); }
  std::filesystem::path run_dir() const { return temp_ / "run"; }

  /// @param model its table, between braces
  std::string config(const std::string& model) const {
    return fmt::format(
        "dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"256MiB\"\nmodel = {{ {} }}\n"
        "[sampler]\ntype = \"temporal\"\ncount = [4]\n"
        "[task]\ntype = \"temporal_link_prediction\"\nrelation = \"meets\"\nwidth = 12\n"
        "decoder_hidden = 12\n"
        "[train]\nepochs = 3\nbatch_size = 40\ncompute_threads = 1\n"
        "optimizer = {{ type = \"adam\", lr = 0.01 }}\n[eval]\nbatch_size = 30\n",
        (temp_ / "data").string(),
        run_dir().string(),
        model);
  }

  /// The features of an event.
  static float size_of(std::uint64_t e) { return static_cast<float>(key_of(e).below(9, 4)); }
  static float tone_of(std::uint64_t e) { return static_cast<float>(key_of(e).below(5, 5)); }

 private:
  static RandomKey key_of(std::uint64_t e) { return RandomKey(47).with(e); }

  TempDir temp_;
};

/// Tables of the models that remember nodes, small.
inline const char* const kMemoryModelTables[] = {
    "type = \"tgn\", hidden = 12",
    "type = \"jodie\", hidden = 12",
    "type = \"tpnet\", hidden = 12, events = 4, walks = 2, walk_width = 20, walk_decay = 0.001"};

}  // namespace sluice::test
