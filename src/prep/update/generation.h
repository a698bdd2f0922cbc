// NextGeneration: a dataset that becomes another one under the same name. What does not change is
// linked, not copied; the exchange is one step. Private to src/prep/update.
#pragma once

#include "prep/prep_context.h"
#include "prep/update/append.h"
#include "prep/update/both_ways.h"
#include "storage/format/dataset_writer.h"

#include <sluice/dataset.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

class NextGeneration {
 public:
  NextGeneration(const std::filesystem::path& dataset, PrepContext& context);

  const Manifest& old_manifest() const noexcept { return old_; }
  Dataset open_old() const;
  DatasetWriter& writer() noexcept { return writer_; }

  /// Take over files; schemas of types and relations are the caller's to add, splits' are added.
  /// @param left_out paths that are written anew
  void keep_splits();
  void keep_nodes(const NodeTypeSchema& node, const std::vector<std::string>& left_out = {});
  void keep_nodes_and_splits();
  void keep_partitions();
  void keep_relation(const RelationSchema& relation, const std::vector<std::string>& left_out = {});
  /// Copies the first `count` u64 of an old file to the end of a new one.
  void copy_values(const std::string& path, std::uint64_t count, DataFileWriter& to);

  /// The first `count` numbers of an old file of i64; fewer where it cannot be read.
  std::vector<std::int64_t> first_values(const std::string& path, std::uint64_t count) const;

  /// The old edges of a relation and those of its log.
  std::unique_ptr<EdgeStream> edges(const RelationSchema& relation) const;

  /// Whether the old edges of a relation seem to stand both ways.
  bool stands_both_ways(const RelationSchema& relation) const {
    return first_edges_stand_both_ways(dataset_, old_.schema, relation);
  }

  /// Publishes, and completes the report.
  void commit(const std::string& created_by, UpdateReport& report);

 private:
  void keep_below(const std::string& folder, const std::vector<std::string>& left_out = {});

  std::filesystem::path dataset_;
  PrepContext& context_;
  Manifest old_;
  DatasetWriter writer_;
};

}  // namespace sluice
