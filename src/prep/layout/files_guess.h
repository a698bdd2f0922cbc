// The steps of FilesLayout. Private to src/prep/layout.
#pragma once

#include "prep/layout/file_roles.h"
#include "prep/layout/layout.h"
#include "prep/layout/table_guess.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

class FilesGuess {
 public:
  explicit FilesGuess(const FileSet& files) : files_(files), made_(files) {}
  Description run();

 private:
  /// A table of edges and the types at its ends.
  struct Edges {
    EdgeGuess guess;
    std::string source = "node", relation = "edge", target = "node";
  };

  // Which files hold edges: files_edges.cpp.
  void find_edges();
  void add_relation(const FileRole& role);
  std::optional<EdgeGuess> try_edges(const std::string& file);
  void keep_likely_edges();
  void describe_edges();
  void describe_edge(Edges& edges, const std::string& path);
  void describe_graphs(const EdgeGuess& guess);
  void describe_metis(const EdgeGuess& guess);
  void describe_market(const Edges& edges, const std::string& path);

  // What stands beside nodes, and how they are named: files_nodes.cpp.
  void describe_nodes();
  void place_rows(const FileRole& role);
  NodeSpec* node_of(const FileRole& role, std::uint64_t rows);
  std::uint64_t rows_of(const std::string& file);
  void describe_ids(NodeSpec& node, const std::string& path);

  // files.cpp
  void describe_splits();
  void add_to_split(const FileRole& role);
  bool holds_edges(const std::string& file);
  bool use_text(const std::string& file, TextGuess& text);
  std::string why_unread(const std::string& file) const;
  std::string where(const NodeSpec& node) const;

  const FileSet& files_;
  Description made_;
  std::vector<FileRole> roles_;
  std::vector<Edges> edges_;
  std::optional<Error> fault_;  ///< the first that kept a file from being read as edges
  std::string train_;           ///< the file of edges, where it is the train part of a split
  std::map<std::string, std::string> options_;  ///< set so far, by format
  std::map<std::string, std::uint64_t> rows_;   ///< of what stands beside nodes, by type
};

}  // namespace sluice
