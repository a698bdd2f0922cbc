// NodeList: the nodes of a relation that have lists, in memory, with the directory that finds them.
// Immutable; thread-safe.
#pragma once

#include "storage/format/manifest.h"
#include "storage/format/relation_lists.h"

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/topology.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace sluice {

class NodeList {
 public:
  NodeList() = default;  ///< not in use: every node has a list

  /// Over `nodes`, u32 or u64 [lists], some of `num_nodes`. Charged as "topology". Errors: kData,
  /// of `path`, where they do not ascend below the count; kResource.
  static Result<NodeList> make(Array nodes,
                               std::uint64_t num_nodes,
                               const std::filesystem::path& path,
                               MemoryLedger* ledger);

  /// Reads the file; of lists that are not listed nothing, and it is not in use. Errors: as above,
  /// and load_array()'s. @param ahead as FileReading::ahead
  static Result<NodeList> load(const std::filesystem::path& root,
                               const Manifest& manifest,
                               const RelationLists& lists,
                               const DatasetOptions& options,
                               std::optional<IoChoice> ahead = std::nullopt);

  bool in_use() const { return view_.in_use(); }
  /// Of the type.
  std::uint64_t num_nodes() const { return num_nodes_; }
  const ListedNodes& view() const { return view_; }
  /// Memory held.
  std::uint64_t bytes() const { return nodes_.bytes() + directory_.bytes(); }

 private:
  std::uint64_t num_nodes_ = 0;
  Array nodes_;
  Array directory_;  // u64
  ListedNodes view_;
};

}  // namespace sluice
