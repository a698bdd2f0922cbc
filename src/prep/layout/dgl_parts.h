// The two forms of DGL's data sets. Private to src/prep/layout.
#pragma once

#include "prep/layout/layout.h"
#include "prep/layout/yaml.h"

#include <string>

namespace sluice {

/// CSVDataset: meta.yaml names tables with headers, node_id, src_id and dst_id among their columns.
/// @param folder of the YAML file, "" or with '/' at its end
void describe_dgl_csv(const FileSet& files,
                      const std::string& folder,
                      const Yaml& meta,
                      Description& made);

/// GraphBolt: metadata.yaml has graph, feature_data and tasks; files without headers, and arrays.
void describe_graphbolt(const FileSet& files,
                        const std::string& folder,
                        const Yaml& meta,
                        Description& made);

}  // namespace sluice
