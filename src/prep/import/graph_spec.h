// GraphSpec: graph.toml, the description of raw files that `sluice-prep import` turns into a
// dataset. Plain options; the same text is config, --help and reference. The smallest one is an
// [[edges]] with a file.
#pragma once

#include "prep/csc_builder.h"
#include "prep/features/feature_choice.h"
#include "prep/features/feature_encoder.h"
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

struct FeatureSpec {
  std::string file;
  std::vector<std::string> columns;
  std::string format = "auto";
  FeatureChoice choice;
  std::int64_t seed = 1;
  NotFinite not_finite = NotFinite::kRefuse;
  void describe(Schema& schema);
};

enum class LabelKindChoice { kAuto, kClass, kMultiLabel, kRegression };

struct LabelSpec {
  std::string file;
  std::vector<std::string> columns;
  std::string id_column;
  std::string format = "auto";
  LabelKindChoice kind = LabelKindChoice::kAuto;
  std::int64_t classes = 0;
  void describe(Schema& schema);
};

struct NodeSpec {
  std::string type = "node";
  std::int64_t count = 0;
  IdKind ids = IdKind::kDense;
  IdFileSpec id_list;
  FeatureSpec features;
  LabelSpec labels;
  void describe(Schema& schema);
};

struct EdgeSpec {
  std::string relation = "edge";
  std::string source;
  std::string target;
  std::string file;
  std::string source_column;
  std::string target_column;
  std::string format = "auto";
  CscOptions csc;
  void describe(Schema& schema);
};

struct SplitSpec {
  std::string name = "default";
  std::string node_type;
  std::string train;
  std::string valid;
  std::string test;
  std::string column;
  std::string format = "auto";
  std::vector<double> ratio;
  std::int64_t seed = 1;
  void describe(Schema& schema);

  bool by_ratio() const { return !ratio.empty(); }
};

struct GraphSpec {
  std::string root;
  std::vector<NodeSpec> nodes;
  std::vector<EdgeSpec> edges;
  std::vector<SplitSpec> splits;
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

/// Fills what may be left out (the only node type, splits' and edges' types) and checks everything
/// that can be checked without opening a file. Throws Error(kUsage) naming table and key.
enum class NoEdges { kRefuse, kAllow };
void complete_spec(GraphSpec& spec, NoEdges no_edges = NoEdges::kRefuse);

}  // namespace sluice
