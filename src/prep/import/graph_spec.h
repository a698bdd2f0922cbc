// GraphSpec: graph.toml, the description of raw files that `sluice-prep import` turns into a
// dataset. Plain options; the same text is config, --help and reference. The smallest one is an
// [[edges]] with a file.
#pragma once

#include "prep/csc_builder.h"
#include "prep/features/feature_choice.h"
#include "prep/features/feature_encoder.h"
#include "prep/features/feature_scaling.h"
#include "prep/import/node_ids.h"
#include "prep/table/dates.h"
#include "prep/table/table_formats.h"

#include <sluice/graph_schema.h>
#include <sluice/options.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Where the ids of a node type are listed, one row a node.
struct IdFileSpec {
  std::string file;
  std::string column;
  std::string format = "auto";
  void describe(Schema& schema);
};

/// What numbers in other files are called.
struct NamesSpec {
  std::string file;
  std::string column;
  std::string number_column;  ///< empty: names stand in the order of their numbers
  std::string format = "auto";
  void describe(Schema& schema);
};

enum class FeatureStorage {
  kAuto,   ///< sparse where the file has a sparse matrix, and that takes less
  kDense,  ///< all elements of a row
  kSparse  ///< those that are not 0
};

struct FeatureSpec {
  std::string file;
  std::vector<std::string> columns;
  std::string id_column;  ///< of nodes alone; empty: rows stand in their order
  std::string format = "auto";
  FeatureChoice choice;
  FeatureStorage storage = FeatureStorage::kAuto;
  std::int64_t seed = 1;
  NotFiniteValues not_finite = NotFiniteValues::kRefuse;
  ScaleChoice scaling;
  void describe(Schema& schema);
};

enum class LabelKindChoice { kAuto, kClass, kName, kMultiLabel, kRegression };

struct LabelSpec {
  std::string file;
  std::vector<std::string> columns;
  std::string id_column;
  std::string format = "auto";
  LabelKindChoice kind = LabelKindChoice::kAuto;
  std::int64_t classes = 0;
  std::vector<std::string> none;   ///< values that stand for no label
  bool minus_one_is_none = false;  ///< nobody said so: complete_spec() does, of names
  void describe(Schema& schema);
};

/// One column of one number a row.
struct ColumnSpec {
  std::string file;
  std::string column;
  std::string format = "auto";
  void describe(Schema& schema);
};

/// How times are read: integers as they stand, numbers that are multiplied and then rounded, or
/// dates in a unit.
struct TimeSpec : ColumnSpec {
  double scale = 0;
  TickUnit unit = TickUnit::kStored;
  std::string id_column;
  void describe(Schema& schema);
};

struct NodeSpec {
  std::string type = "node";
  std::int64_t count = 0;
  IdKind ids = IdKind::kDense;
  std::int64_t first_id = 0;
  UnknownIds unknown_ids = UnknownIds::kError;
  IdFileSpec id_list;
  NamesSpec names;
  TimeSpec times;
  FeatureSpec features;
  LabelSpec labels;
  void describe(Schema& schema);
};

/// What a column of types of edges makes.
enum class EdgeTypes {
  kRelations,  ///< a relation of its own for each of them
  kLabels      ///< one relation; the type is the edge's label
};

/// How an array of both ends lies where its shape, [2, 2], does not tell.
enum class PairsChoice {
  kAuto,    ///< by its name; else rows, with a warning
  kRows,    ///< [E, 2]
  kColumns  ///< [2, E]
};

struct EdgeSpec {
  std::string relation = "edge";
  std::string source;
  std::string target;
  std::string file;
  std::string source_column;
  std::string target_column;
  std::string format = "auto";
  PairsChoice pairs = PairsChoice::kAuto;
  std::string reverse;
  std::string type_column;
  EdgeTypes types = EdgeTypes::kRelations;
  NamesSpec type_names;
  std::string time_column;
  double time_scale = 0;
  TickUnit time_unit = TickUnit::kStored;
  std::string weight_column;
  FeatureSpec features;
  LabelSpec labels;
  CscOptions csc;
  void describe(Schema& schema);

  bool has_features() const { return !features.file.empty() || !features.columns.empty(); }
  bool has_labels() const { return !labels.file.empty() || !labels.columns.empty(); }
  /// Whether something is kept by edge id.
  bool has_attributes() const {
    return has_features() || has_labels() || !time_column.empty() || !weight_column.empty() ||
           (!type_column.empty() && types == EdgeTypes::kLabels);
  }
};

enum class SplitOf { kNodes, kEdges, kGraphs };
enum class SplitOrder { kRandom, kTime };

/// A part of a split that has a file.
struct SplitPart {
  const char* name;  ///< "train", "valid" or "test"
  std::string file;
  std::string labels;     ///< of its ids; empty: none
  std::string column;     ///< of the file; empty: the first
  std::string id_column;  ///< of masks: whose rows they are; empty: unsaid
  std::string format;
};

struct SplitSpec {
  std::string name = "default";
  SplitOf of = SplitOf::kNodes;
  std::string node_type;
  std::string train;
  std::string valid;
  std::string test;
  std::string train_labels, valid_labels, test_labels;  ///< of nodes: a label for each of the ids
  std::string column;                                   ///< of all parts
  std::vector<std::string> columns;                     ///< or one for each part
  std::string id_column;                                ///< of masks
  std::string format = "auto";
  std::vector<double> ratio;
  std::int64_t seed = 1;
  // Of edges:
  std::string relation;  ///< EdgeSpec::relation
  SplitOrder order = SplitOrder::kRandom;
  std::string source_column, target_column, type_column, label_column;
  PairsChoice pairs = PairsChoice::kAuto;
  void describe(Schema& schema);

  bool by_ratio() const { return !ratio.empty(); }
  /// Those that have files: train, valid, test, in this order.
  std::vector<SplitPart> parts() const;
  bool has_labels() const {
    return !train_labels.empty() || !valid_labels.empty() || !test_labels.empty();
  }
};

/// Many small graphs: which nodes are whose.
struct GraphsSpec {
  std::string node_type;
  ColumnSpec membership;  ///< the graph of each node, by number, ascending
  ColumnSpec sizes;       ///< or the number of nodes of each graph
  ColumnSpec edge_sizes;  ///< the number of edges of each, where edges count nodes within theirs
  std::int64_t first_id = 0;
  LabelSpec labels;
  void describe(Schema& schema);

  bool any() const { return !membership.file.empty() || !sizes.file.empty(); }
};

/// Which node types have labels that stand beside the ids of splits.
bool has_split_labels(const std::vector<SplitSpec>& splits, const std::string& node_type);

struct GraphSpec {
  std::string root;
  std::vector<NodeSpec> nodes;
  std::vector<EdgeSpec> edges;
  std::vector<SplitSpec> splits;
  GraphsSpec graphs;
  TableOptions formats;  ///< one table of keys a format: [csv] delimiter = ";"

  /// @param known gives each format its options
  explicit GraphSpec(const TableFormats& known);
  void describe(Schema& schema);
};

/// The folder that file names are relative to: `override_root` (--root) where it is given, else the
/// spec's root (itself relative to graph.toml's folder), else graph.toml's folder.
std::filesystem::path resolve_root(const GraphSpec& spec,
                                   const std::filesystem::path& config_file,
                                   const std::optional<std::string>& override_root);

/// A file that a spec names, and by which key.
struct SpecFile {
  std::string key;
  std::string file;
  std::string format;
};
std::vector<SpecFile> files_of(const GraphSpec& spec);

/// Fills what may be left out (the only node type, splits' and edges' types) and checks everything
/// that can be checked without opening a file. Throws Error(kUsage) naming table and key.
enum class NoEdges { kRefuse, kAllow };
void complete_spec(GraphSpec& spec, NoEdges no_edges = NoEdges::kRefuse);

}  // namespace sluice
