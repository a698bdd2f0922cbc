// import: raw files, described by graph.toml, become a dataset. Streams everything in memory
// bounded by the ledger; what grows with the graph (edges while they are sorted, id maps, labels
// under ids) is charged or refused.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/prep_context.h"
#include "storage/format/staging.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

struct ImportOptions {
  std::filesystem::path root;  ///< folder of the files: resolve_root()
  std::filesystem::path out;   ///< the dataset to make
  Overwrite overwrite = Overwrite::kRefuse;
  std::string created_by = "sluice-prep import";  ///< recorded in the manifest
  Resume resume = {};  ///< edges of a relation are a stage; nodes are read anew
};

struct RelationImport {
  std::string key;
  CscStats stats;
  std::uint64_t skipped = 0;  ///< rows of the table that name unknown nodes; said once a table
};

/// What the ids of a type were good for.
struct TypeImport {
  std::string type;
  std::uint64_t created = 0;  ///< nodes that edges alone named
  std::uint64_t skipped = 0;  ///< labels and rows of splits of nodes that are not there
};

struct ImportReport {
  GraphSchema schema;
  std::vector<RelationImport> relations;
  std::vector<TypeImport> types;
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t bytes = 0;  ///< of data files
  double seconds = 0;
};

/// Imports and publishes the dataset whole, or throws Error and leaves nothing behind.
ImportReport import_dataset(GraphSpec spec,
                            const TableFormats& formats,
                            const ImportOptions& options,
                            PrepContext& context);

/// The report as a few lines of text.
std::string to_text(const ImportReport& report);

}  // namespace sluice
