// A small graph as a user would write it down, cell by cell, imported by sluice-prep: for tests of
// what is odd in one place of it.
#pragma once

#include "support/process.h"
#include "support/temp_dir.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::test {

/// Twelve nodes on a ring, of two classes that their features tell apart; six to train on.
struct OwnGraph {
  std::vector<std::string> labels{"0", "1", "0", "1", "0", "1", "0", "1", "0", "1", "0", "1"};
  std::string kind = "class";  ///< of labels, as graph.toml says it; an empty cell is a missing one
  std::vector<std::vector<std::string>> features;  ///< by node; empty: two that tell the class
  std::vector<std::string> ids;                    ///< empty: 0, 1, 2, ...
  std::vector<std::size_t> train{0, 1, 2, 3, 4, 5}, valid{6, 7, 8}, test{9, 10, 11};
  std::string more;  ///< of graph.toml, behind the split; files that it names lie in dir/own

  OwnGraph() {
    for (std::size_t node = 0; node < labels.size(); ++node) {
      const std::string shade = "0.0" + std::to_string(node);
      features.push_back({labels[node] == "0" ? "1" : shade, labels[node] == "0" ? shade : "1"});
    }
  }

  std::string id(std::size_t node) const { return ids.empty() ? std::to_string(node) : ids[node]; }

  /// Not finite features are kept.
  void import(const TempDir& dir, const std::filesystem::path& out) const {
    std::string columns, nodes = "id,y";
    for (std::size_t c = 0; c < features[0].size(); ++c) {
      columns += (c == 0 ? "\"f" : ", \"f") + std::to_string(c) + "\"";
      nodes += ",f" + std::to_string(c);
    }
    nodes += '\n';
    for (std::size_t node = 0; node < labels.size(); ++node) {
      nodes += quoted(id(node)) + "," + labels[node];
      for (const std::string& cell : features[node]) nodes += "," + cell;
      nodes += '\n';
    }
    std::string edges = "source,target\n";
    for (std::size_t node = 0; node < labels.size(); ++node)
      edges += quoted(id(node)) + "," + quoted(id((node + 1) % labels.size())) + "\n";
    dir.write("own/nodes.csv", nodes);
    dir.write("own/edges.csv", edges);
    std::string splits;
    for (const auto& [part, members] :
         {std::pair{"train", train}, {"valid", valid}, {"test", test}}) {
      if (members.empty()) continue;
      std::string text = "id\n";
      for (const std::size_t node : members) text += quoted(id(node)) + "\n";
      dir.write(std::string("own/") + part + ".csv", text);
      splits += std::string(part) + " = \"" + part + ".csv\"\n";
    }
    const std::string named =
        ids.empty() ? ""
                    : "ids = \"string\"\nid_list = { file = \"nodes.csv\", column = \"id\" }\n";
    dir.write("own/graph.toml",
              "[[nodes]]\n" + named + "features = { file = \"nodes.csv\", columns = [" + columns +
                  "], not_finite = \"keep\" }\nlabels = { file = \"nodes.csv\", columns = [\"y\"], "
                  "kind = \"" +
                  kind + "\" }\n[[edges]]\nfile = \"edges.csv\"\nundirected = true\n[[splits]]\n" +
                  splits + more);
    const Outcome outcome = run({tool("sluice-prep"),
                                 "import",
                                 "--config",
                                 dir / "own/graph.toml",
                                 "--overwrite",
                                 "--out",
                                 out});
    if (outcome.code != 0) throw std::runtime_error("sluice-prep failed: " + outcome.err);
  }

 private:
  static std::string quoted(const std::string& cell) {
    std::string text = "\"";
    for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + '"';
  }
};

}  // namespace sluice::test
