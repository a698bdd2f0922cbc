// Text to a dataset: sluice-prep import of CSV, beside pandas.read_csv and a sort of what it read.
#include "bench/import/text_edges.h"
#include "bench/support/child.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace sluice::bench {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string dir = ".";
  std::uint64_t edges = 100'000'000;
  std::uint64_t scale = 22;
  std::uint64_t threads = 2;
  std::string memory = "2GiB";
  std::string peers = SLUICE_BENCH_PEERS;
};

Json last_object(const std::string& text) {
  std::istringstream lines(text);
  Json last;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('{')) last = Json::parse(line);
  return last;
}

// One import in a process of its own, so that its peak memory is its own.
Json import_edges(const Options& options, const std::filesystem::path& folder, IdText ids) {
  const std::filesystem::path toml = folder / "graph.toml", out = folder / "dataset";
  {
    std::ofstream file(toml);
    if (ids == IdText::kString) file << "[[nodes]]\nids = \"string\"\n";
    file << "[[edges]]\nfile = \"edges.csv\"\n";
  }
  std::filesystem::remove_all(out);
  const std::string prep = (build_folder() / "sluice-prep").string();
  return last_object(run_child({prep,
                                "import",
                                "--config",
                                toml.string(),
                                "--out",
                                out.string(),
                                "--memory",
                                options.memory,
                                "--threads",
                                std::to_string(options.threads),
                                "--json",
                                "--quiet"}));
}

void measure(const Options& options, const std::string& name, IdText ids) {
  const Folder folder(std::filesystem::path(options.dir) / "import_bench");
  const std::filesystem::path text = folder.path() / "edges.csv";
  const std::uint64_t bytes =
      write_text_edges(text, options.scale, options.edges, ids, options.threads);
  const Json imported = import_edges(options, folder.path(), ids);
  Line line;
  line.name = name;
  line.work = static_cast<double>(options.edges);
  line.unit = "edges";
  line.seconds = imported.at("seconds");
  line.more["text_bytes"] = bytes;
  line.more["memory"] = imported.at("memory");
  if (ids == IdText::kDense && !options.peers.empty()) {
    const Json pandas = last_object(run_child({options.peers, "csv", text.string()}));
    line.peer = "pandas read_csv + sort";
    line.peer_rate = line.work / pandas.at("seconds").get<double>();
    line.more["peer"] = pandas;
  }
  print(line);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  Program program("import", "edges in text to a dataset");
  Options options;
  program.option("--dir", options.dir, "a folder with room for the text twice: 6 GB");
  program.option("--edges", options.edges, "edges");
  program.option("--scale", options.scale, "2^scale nodes");
  program.option("--threads", options.threads, "data threads");
  program.option("--memory", options.memory, "the budget");
  program.option("--peers", options.peers, "the script that runs the peers; empty: none");
  program.add_case(
      "csv", "dense ids, beside pandas", [&] { measure(options, "csv", IdText::kDense); });
  program.add_case("csv_strings", "the same edges between nodes with names", [&] {
    measure(options, "csv_strings", IdText::kString);
  });
  return program.run(argc, argv);
}
