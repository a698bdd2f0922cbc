// A folder with events between few nodes, some of which are appended later, and configs over them.
#pragma once

#include "support/process.h"
#include "support/temp_dir.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::test {

class GrowingEvents {
 public:
  static constexpr std::uint64_t kNodes = 40, kFirst = 600, kMore = 300;
  static constexpr const char* kModel = "type = \"graphmixer\", hidden = 12, events = 4";

  GrowingEvents() {
    write(0, kFirst);
    folder.write("graph.toml",
                 fmt::format("[[nodes]]\ncount = {}\n[[edges]]\nfile = \"events.csv\"\n"
                             "time_column = \"t\"\n",
                             kNodes));
    prep({"import",
          "--config",
          (folder / "graph.toml").string(),
          "--out",
          (folder / "data").string()});
    folder.write("more.toml", "[[edges]]\nfile = \"events.csv\"\ntime_column = \"t\"\n");
  }

  /// kMore events, after all that are there.
  void append() {
    write(have_, kMore);
    prep({"append", (folder / "data").string(), "--config", (folder / "more.toml").string()});
  }

  /// Random destinations are drawn among all nodes, so that they stay the same as events come.
  std::string config(const std::string& model = kModel) const {
    return fmt::format(
        "dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"256MiB\"\nmodel = {{ {} }}\n"
        "[sampler]\ntype = \"temporal\"\ncount = [4]\n"
        "[task]\ntype = \"temporal_link_prediction\"\nwidth = 12\ndecoder_hidden = 12\n"
        "candidates = \"nodes\"\n"
        "[train]\nepochs = 2\nbatch_size = 40\ncompute_threads = 1\n"
        "optimizer = {{ type = \"adam\", lr = 0.01 }}\n[eval]\nbatch_size = 40\n",
        (folder / "data").string(),
        run_dir("first"),
        model);
  }
  std::string run_dir(const std::string& name) const { return (folder / name).string(); }

  TempDir folder;

 private:
  static void prep(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), tool("sluice-prep"));
    const Outcome made = run(arguments);
    REQUIRE_MESSAGE(made.code == 0, made.err);
  }

  // Ids ascend with the times. What is appended is between other nodes than what was there.
  void write(std::uint64_t first, std::uint64_t count) {
    std::string text = "src,dst,t\n";
    for (std::uint64_t e = first; e < first + count; ++e) {
      const RandomKey own = RandomKey(50).with(e);
      now_ += static_cast<std::int64_t>(own.below(3, 0)) + 1;
      const std::uint64_t from = own.below(kNodes, 1);
      const std::uint64_t step = first == 0 ? 1 : 7;
      text += fmt::format("{},{},{}\n", from, (from + step + own.below(4, 2)) % kNodes, now_);
    }
    folder.write("events.csv", text);
    have_ = first + count;
  }

  std::int64_t now_ = 1'000'000;
  std::uint64_t have_ = 0;
};

}  // namespace sluice::test
