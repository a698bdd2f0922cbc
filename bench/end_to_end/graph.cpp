#include "bench/end_to_end/graph.h"

#include "bench/support/child.h"

#include <fmt/format.h>

#include <bit>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

std::uint64_t scale_of(const Sizes& sizes) {
  return static_cast<std::uint64_t>(std::bit_width(std::bit_ceil(sizes.nodes)) - 1);
}

// Says all that the content depends on, so that another graph is never taken for this one.
std::string name_of(const Sizes& sizes) {
  const bool sbm = sizes.graph == GraphKind::kSbm;
  return fmt::format("{}-{}-{}-{}-{}",
                     sbm ? "sbm" : "rmat",
                     sbm ? sizes.nodes : std::uint64_t{1} << scale_of(sizes),
                     sizes.edges,
                     sizes.features,
                     sizes.train);
}

std::vector<std::string> generate_command(const Sizes& sizes, const fs::path& out) {
  std::vector<std::string> command{(build_folder() / "sluice-prep").string(), "generate"};
  const auto add = [&](const char* flag, const auto& value) {
    command.push_back(flag);
    command.push_back(fmt::format("{}", value));
  };
  if (sizes.graph == GraphKind::kSbm) {
    command.push_back("sbm");
    add("--nodes", sizes.nodes);
    add("--edges", sizes.edges);
  } else {
    command.push_back("rmat");
    add("--scale", scale_of(sizes));
    add("--edge-factor",
        static_cast<double>(sizes.edges) /
            static_cast<double>(std::uint64_t{1} << scale_of(sizes)));
  }
  add("--features", sizes.features);
  add("--classes", 16);
  add("--signal", 1.5);
  add("--train", sizes.train);
  add("--valid", 0);  // nothing but the epoch is measured
  add("--test", 0);
  add("--out", out.string());
  command.push_back("--json");
  return command;
}

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".bin") sum += entry.file_size();
  }
  return sum;
}

}  // namespace

BenchGraph make_graph(const fs::path& folder, const Sizes& sizes) {
  fs::create_directories(folder);
  BenchGraph graph;
  graph.path = folder / name_of(sizes);
  if (!fs::exists(graph.path / "manifest.json"))
    (void)run_child(generate_command(sizes, graph.path));
  graph.table_bytes = fs::file_size(graph.features());
  graph.data_bytes = graph.table_bytes + bytes_below(graph.path / "edges");
  return graph;
}

}  // namespace sluice::bench
