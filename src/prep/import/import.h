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
};

struct ImportReport {
  GraphSchema schema;
  std::vector<RelationImport> relations;
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
