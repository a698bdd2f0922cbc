// What the parts of an import share. Private to src/prep/import.
#pragma once

#include "prep/edge_stream.h"
#include "prep/import/graph_offsets.h"
#include "prep/import/graph_spec.h"
#include "prep/import/node_ids.h"
#include "prep/prep_context.h"
#include "storage/format/dataset_writer.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

/// One bit a node, charged to the ledger: which nodes have labels.
class NodeBits {
 public:
  explicit NodeBits(MemoryLedger& ledger, std::string_view name = "labelled nodes")
      : words_(ledger, name) {}

  void set(std::uint64_t node) {
    while (words_.size() <= node / 64) words_.push_back(0);
    words_.data()[node / 64] |= std::uint64_t{1} << node % 64;
  }
  bool get(std::uint64_t node) const {
    return node / 64 < words_.size() && (words_.values()[node / 64] >> node % 64 & 1) != 0;
  }

 private:
  GrowingArray<std::uint64_t> words_;
};

/// The nodes that a type has already, where more come behind them: their rows are copied as they
/// are stored. Private to append.
class EarlierNodes {
 public:
  virtual ~EarlierNodes() = default;
  virtual const NodeTypeSchema& schema() const = 0;
  virtual void copy_features(FeatureWriter& to) const = 0;
  virtual void copy_labels(DataFileWriter& to) const = 0;
};

/// A node type on its way into the dataset.
struct NodeState {
  const NodeSpec& spec;
  NodeIds ids;
  NodeTypeSchema schema;
  std::unique_ptr<NodeBits> labelled;  ///< null: the type has no labels
  std::uint64_t skipped = 0;           ///< labels and split rows of ids that are not there
  std::uint64_t created = 0;           ///< nodes that edges alone named
  /// Whose training part the statistics of the features are of, and which nodes that are; null:
  /// there is none, or nothing needs statistics.
  const SplitSpec* training_split = nullptr;
  std::unique_ptr<NodeBits> training = nullptr;
  /// Null: all of the type's nodes are new. Else the files hold only those behind them.
  const EarlierNodes* earlier = nullptr;

  std::uint64_t first_new() const { return earlier == nullptr ? 0 : earlier->schema().count; }
};

struct ImportContext {
  const GraphSpec& spec;
  const TableFormats& formats;
  std::filesystem::path root;
  DatasetWriter& writer;
  PrepContext& prep;
  std::map<std::string, NodeState> nodes;  ///< by type
  /// The relations of types of edges: their names by [[edges]] and title.
  std::map<const EdgeSpec*, std::map<std::string, std::string>> relation_names = {};
  std::unique_ptr<GraphOffsets> graphs = nullptr;  ///< of [graphs], from load_graphs() on

  std::unique_ptr<TableReader> open(const std::string& file, const std::string& format) const {
    return formats.open({root / file, &prep.ledger, &prep.arena}, format, spec.formats);
  }
  NodeState& node(const std::string& type) { return nodes.at(type); }
};

/// Whether the edges of a relation must stay within the graphs of [graphs].
inline bool is_within_graphs(const ImportContext& context, const EdgeSpec& edge) {
  const std::string& type = context.spec.graphs.node_type;
  return context.graphs != nullptr && edge.source == type && edge.target == type;
}

/// The ids in column `index` of a chunk.
inline IdValues id_values(const TableChunk& chunk, std::size_t index) {
  return {chunk.columns[index].integers, chunk.columns[index].text};
}

/// The column that lists ids: of that name, or the first. A matrix is a kData error.
const ColumnInfo& find_id_column(const TableReader& table, const std::string& name);

/// Reads the list of ids of a type. @pre it has one
void import_id_list(ImportContext& context, NodeState& node);

/// Where rows of a table go, and whose they are.
struct RowTarget {
  std::string path;   ///< of the file in the dataset
  std::string owner;  ///< for messages: "type 'paper'"
  /// Told the number of rows as soon as it is known, and again at the end; throws where it is not
  /// what it should be.
  std::function<void(std::uint64_t rows, const Place& place)> check_rows;
  std::uint64_t first_new = 0;  ///< rows before these
  const EarlierNodes* earlier = nullptr;
  /// Puts the rows of a table into their order (rows_by_id.h); null: they stand in it.
  std::function<std::unique_ptr<TableReader>(std::unique_ptr<TableReader>)> order = nullptr;
  /// Of a sparse matrix: whether columns may name its entries, as those of edges do.
  SparseEntries entries = SparseEntries::kRefuse;
  const NodeBits* training = nullptr;  ///< rows that statistics are of; null: all
  std::string training_name;           ///< which these are, for people
};

/// The rows of a type's nodes.
RowTarget rows_of(NodeState& node, const std::string& from, const std::string& file);

/// Opens a table whose rows go there, in their order.
std::unique_ptr<TableReader> open_rows(const ImportContext& context,
                                       const std::string& file,
                                       const std::string& format,
                                       const RowTarget& target);

/// Streams a feature table into the dataset.
FeatureSchema import_feature_table(ImportContext& context,
                                   const FeatureSpec& spec,
                                   const RowTarget& target);
/// Streams labels that stand in the order of what they label. @param labelled is told who has one;
/// may be null
LabelSchema import_label_table(ImportContext& context,
                               const LabelSpec& spec,
                               const RowTarget& target,
                               NodeBits* labelled);

/// A type's features, labels that stand in the order of the nodes, and times: each states the
/// number of nodes.
void import_features(ImportContext& context, NodeState& node);
/// Where the features wait for a split: their number alone.
void count_feature_rows(ImportContext& context, NodeState& node);
void import_labels_by_position(ImportContext& context, NodeState& node);
void import_node_times(ImportContext& context, NodeState& node);
/// Labels with an id column: gathered in memory. @pre the number of nodes is known
void import_labels_by_id(ImportContext& context, NodeState& node);
/// Labels that stand beside the ids of splits: gathered in memory too.
void import_labels_of_splits(ImportContext& context, NodeState& node);

/// An edge table as a stream of u64 ids; rows of ids that are not there are left out where a type
/// says so. @pre the types' nodes are counted
std::unique_ptr<EdgeStream> open_edges(ImportContext& context, const EdgeSpec& edge);

/// A split of nodes, and one of graphs. @param labelled the graphs with labels; null: all
void import_split(ImportContext& context, const SplitSpec& split);
void import_graph_split(ImportContext& context, const SplitSpec& split, const NodeBits* labelled);

/// Which nodes are whose: states the number of nodes, where nothing else did. Nothing without
/// [graphs].
void load_graphs(ImportContext& context);

/// The files and the schema of [graphs]. @pre load_graphs(), and the nodes are counted
/// Returns which graphs have labels; null when none has.
std::unique_ptr<NodeBits> import_graphs(ImportContext& context);

}  // namespace sluice
