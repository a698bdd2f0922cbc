// export: a dataset's content under its external ids, as files that other tools read: edges, ids,
// labels, and features of a dataset, as CSV, Parquet or .npy, in bounded memory.
#pragma once

#include "prep/export/table_sink.h"
#include "prep/prep_context.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

struct ExportOptions {
  std::filesystem::path dataset;
  std::filesystem::path out;  ///< a folder, which must not be there yet
  ExportFormat format = ExportFormat::kCsv;
};

struct ExportReport {
  std::vector<std::string> files;  ///< below `out`
  std::uint64_t bytes = 0;
};

/// Writes one file an edge relation and, a node type, one of its ids and labels and one of each
/// feature table. CSV: `<relation>.csv` (source, target), `<type>.csv` (id, label; label0, label1,
/// ... for several targets; several classes as "0 3 7"), features in `<type>.<table>.csv` (f0, f1,
/// ...). What else there is follows in columns of these: time of nodes and edges, weight, label by
/// its name, graph; edges with features have their edge_id, the row of `<relation>.<table>.csv`.
/// `graphs.csv` has number, nodes and label of each graph. Parquet: the same, several classes as a
/// list. npy: ids, labels, times and weights in arrays of their own; string ids have no array, so
/// types with them are refused (kUsage). The folder appears whole or not at all. Throws Error.
ExportReport export_dataset(const ExportOptions& options, PrepContext& context);

}  // namespace sluice
