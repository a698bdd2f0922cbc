// bench/feed: the Python loader's epochs beside the same epochs of a C++ loop, in turn, over a
// graph whose features are on disk, and no step: what handing mini-batches over costs.
#include "bench/support/child.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "feed/feed.h"

#include <fmt/format.h>
#include <sluice/error.h>
#include <sluice/registry.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class FeedBench {
 public:
  std::string dir = ".";
  std::string data;
  std::string memory = "512MiB";
  std::string python = SLUICE_BENCH_PYTHON;
  std::uint64_t nodes = 4'400'000;
  std::uint64_t edges = 26'000'000;
  std::uint64_t epochs = 3;
  std::uint64_t rounds = 3;

  // The middle of all epochs but each process's first.
  void beside_python(const std::string& name, const std::string& what) {
    make_graph();
    std::vector<double> ours, theirs;
    std::uint64_t batches = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      batches = add_epochs(theirs, own_program());
      if (batches != add_epochs(ours, python_loop(what)))
        throw Error(ErrorCode::kInternal, "the two loops had other numbers of mini-batches");
    }
    Line line{.name = name, .work = 1, .unit = "epochs", .seconds = median(ours)};
    line.peer = "the same loop in C++";
    line.peer_rate = 1 / median(theirs);
    line.more["batches"] = batches;
    line.more["python_seconds"] = ours;
    line.more["cpp_seconds"] = theirs;
    print(line);
  }

  // In a process of its own, so that neither finds what the other has left.
  void cpp_epochs() const {
    const FeedRegistry known{builtin_samplers(), builtin_caches()};
    FeedOptions options(known);
    options.set({{"fanout", "[10, 10]"}, {"features", "\"disk\""}, {"memory", '"' + memory + '"'}});
    const auto feed = Feed::open(data, options, {});
    std::vector<double> seconds;
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const auto begin = std::chrono::steady_clock::now();
      feed->start({.epoch = epoch});
      while (feed->loader().next()) {
      }
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::puts(Json{{"batches", feed->num_batches()}, {"seconds", seconds}}.dump().c_str());
  }

 private:
  void make_graph() {
    if (!data.empty()) return;
    folder_.emplace(fs::path(dir) / "feed_bench");
    data = (folder_->path() / "graph").string();
    (void)run_child({(build_folder() / "sluice-prep").string(),
                     "generate",
                     "sbm",
                     "--nodes",
                     std::to_string(nodes),
                     "--edges",
                     std::to_string(edges),
                     "--features",
                     "128",
                     "--classes",
                     "16",
                     "--train",
                     "0.02",
                     "--json",
                     "--out",
                     data});
  }

  std::vector<std::string> own_program() const {
    return {(build_folder() / "bench" / "feed").string(),
            "--filter",
            "cpp_epochs",
            "--data",
            data,
            "--memory",
            memory,
            "--epochs",
            std::to_string(epochs)};
  }

  std::vector<std::string> python_loop(const std::string& what) const {
    return {python,
            "-B",
            SLUICE_BENCH_LOOP,
            (build_folder() / "python").string(),
            data,
            memory,
            std::to_string(epochs),
            what};
  }

  static std::uint64_t add_epochs(std::vector<double>& all,
                                  const std::vector<std::string>& command) {
    const Json said = Json::parse(run_child(command));
    const auto seconds = said.at("seconds").get<std::vector<double>>();
    all.insert(all.end(), seconds.begin() + (seconds.size() > 1 ? 1 : 0), seconds.end());
    return said.at("batches");
  }

  std::optional<Folder> folder_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  FeedBench bench;
  Program program("feed", "epochs of the Python loader beside those of a C++ loop; no step");
  program.option("--dir", bench.dir, "folder for the graph, on the disk to measure");
  program.option("--data", bench.data, "a dataset to use instead of a generated one");
  program.option("--memory", bench.memory, "budget of each loader");
  program.option("--python", bench.python, "the Python that the package was built for");
  program.option("--nodes", bench.nodes, "of the generated graph");
  program.option("--edges", bench.edges, "of the generated graph");
  program.option("--epochs", bench.epochs, "a process; the first is not counted");
  program.option("--rounds", bench.rounds, "processes of each kind, in turn");
  program.add_case("python_loader", "mini-batches as arrays", [&] {
    bench.beside_python("python_loader", "arrays");
  });
  program.add_case("python_edges", "and edge_index of each layer, int64", [&] {
    bench.beside_python("python_edges", "edges");
  });
  program.add_hidden_case("cpp_epochs", [&] { bench.cpp_epochs(); });
  return program.run(argc, argv);
}
