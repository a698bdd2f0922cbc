// GraphSchema: what a dataset holds, by type and relation: counts, dtypes, widths. No paths, no
// data.
//
// A homogeneous graph is one node type and one relation; nothing in the engine treats it apart.
#pragma once

#include <sluice/dtype.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// How the columns of a feature table were brought to one scale as they were stored: column c holds
/// (x - shift[c]) / divisor[c], where x is fill[c] if the value was missing.
struct FeatureScaling {
  std::string scale = "none";  ///< "standard", "minmax", "robust"; "none": shift and divisor empty
  std::string missing{};       ///< what missing values became, "mean" or "zero"; empty: nothing
  std::string over{};          ///< the rows that the statistics are of, for people
  std::uint64_t rows = 0;      ///< how many these are
  std::vector<std::string> columns{};  ///< their names, where they have some
  std::vector<double> shift{};         ///< [dim]
  std::vector<double> divisor{};       ///< [dim], none 0
  std::vector<double> fill{};          ///< [dim]; empty with an empty `missing`
};

/// A table of one row a node (or edge): features, all rows of one width.
struct FeatureSchema {
  std::string name = "features";  ///< a type may have several groups of features
  /// kF32, kF16, kBF16, or kI8, which in a feature table means "int8": a row is an f32 scale, then
  /// `dim` signed bytes q, each of the value scale * q.
  DType dtype = DType::kF32;
  std::uint64_t rows = 0;
  std::uint32_t dim = 0;  ///< elements a row
  std::optional<FeatureScaling> scaling{};
  /// Sparse rows: room for so many entries that are not 0 in each. 0: dense rows, all elements.
  std::uint32_t entries = 0;

  bool sparse() const { return entries != 0; }
};

/// Bytes before the elements of an int8 feature row: its scale.
inline constexpr std::uint64_t kInt8ScaleBytes = sizeof(float);

/// Bytes of a feature row as stored. An int8 row ends in up to three zero bytes, so that the next
/// row's scale is aligned to 4.
constexpr std::uint64_t feature_row_bytes(DType dtype, std::uint32_t dim) {
  const std::uint64_t elements = std::uint64_t{dim} * size_of(dtype);
  if (dtype != DType::kI8 || dim == 0) return elements;
  return kInt8ScaleBytes + (elements + 3) / 4 * 4;
}

/// Bytes of a column's number in a sparse row.
constexpr std::uint64_t sparse_index_bytes(std::uint32_t dim) {
  return dim <= (std::uint32_t{1} << 16) ? 2 : 4;
}

/// Bytes of a sparse feature row: how many entries it has (u32), their columns ascending, and their
/// values, each list begun at a multiple of 4 bytes; then zeros where a row has fewer than
/// `entries`. @pre dtype is a float
constexpr std::uint64_t sparse_row_bytes(DType dtype, std::uint32_t dim, std::uint32_t entries) {
  const std::uint64_t columns = (entries * sparse_index_bytes(dim) + 3) / 4 * 4;
  return sizeof(std::uint32_t) + columns + (std::uint64_t{entries} * size_of(dtype) + 3) / 4 * 4;
}

/// Bytes of a row of this table, dense or sparse.
inline std::uint64_t feature_row_bytes(const FeatureSchema& table) {
  return table.sparse() ? sparse_row_bytes(table.dtype, table.dim, table.entries)
                        : feature_row_bytes(table.dtype, table.dim);
}

/// What a feature table's dtype is called in manifests, configs and messages: "f32", "f16",
/// "bf16", "int8".
std::string_view feature_dtype_name(DType dtype);
/// The inverse; nothing for an unknown name.
std::optional<DType> parse_feature_dtype(std::string_view name);

enum class LabelKind {
  kClass,       ///< one i32 class id a node, -1: missing
  kMultiLabel,  ///< one bit a class a node, in bytes, lowest bit first
  kRegression   ///< `width` f32 targets a node, NaN: missing
};

struct LabelSchema {
  LabelKind kind = LabelKind::kClass;
  std::uint32_t width = 1;  ///< classes for kClass and kMultiLabel, targets for kRegression
  /// What the user calls the classes, [width]; empty: they are numbers.
  std::vector<std::string> names{};
};

/// How the user names nodes. Results are written under these ids.
enum class IdKind {
  kDense,    ///< the ids are 0..count-1 already
  kInteger,  ///< int64
  kString
};

struct NodeTypeSchema {
  std::string name;
  std::uint64_t count = 0;
  IdKind ids = IdKind::kDense;
  std::vector<FeatureSchema> features{};
  std::optional<LabelSchema> labels{};
  bool has_times = false;  ///< a time a node: times.bin
};

/// Ids of a type of `count` nodes on disk: u32 where they fit.
constexpr DType node_id_dtype(std::uint64_t count) {
  return count <= (std::uint64_t{1} << 32) ? DType::kU32 : DType::kU64;
}

/// A relation: edges of one kind from nodes of `source` to nodes of `target`.
struct RelationSchema {
  std::string source;
  std::string name;
  std::string target;
  std::uint64_t edges = 0;
  bool has_edge_ids = false;
  std::uint64_t edge_id_bound =
      0;                       ///< every edge id is below it; u32 on disk when it is at most 2^32
  bool has_times = false;      ///< i64 an edge, beside the neighbours; they ascend in each list
  bool has_weights = false;    ///< f32 an edge, beside the neighbours
  bool has_out_edges = false;  ///< the CSR files are there as well
  /// Edges that came after those of the CSC files and stand in a log of their own until `compact`;
  /// not counted in `edges`.
  std::uint64_t appended = 0;
  std::uint64_t appended_id_bound = 0;    ///< every edge id, of both, is below it
  std::vector<FeatureSchema> features{};  ///< rows by edge id, `edge_id_bound` of them
  std::optional<LabelSchema> labels{};    ///< by edge id too
  std::string title{};  ///< what the user calls it, where that is no name for a folder
  /// Where few targets have in-edges, the CSC files have offsets of these alone: how many they are.
  /// Nothing: an offset a target.
  std::optional<std::uint64_t> listed_targets{};
  std::optional<std::uint64_t> listed_sources{};  ///< the same of the CSR files
  /// What the import left out or added, and append does too: "drop" or "add"; "drop" or "error".
  /// Empty: edges are as the files have them.
  std::string self_loops{}, duplicates{};

  DType edge_id_dtype() const {
    return edge_id_bound <= (std::uint64_t{1} << 32) ? DType::kU32 : DType::kU64;
  }

  /// "source__name__target": the folder's name and the relation's key.
  std::string key() const { return source + "__" + name + "__" + target; }
};

struct SplitSchema {
  std::string name;       ///< "default", ...
  std::string node_type;  ///< whose ids it holds
  std::uint64_t train = 0;
  std::uint64_t valid = 0;
  std::uint64_t test = 0;
};

/// Train, valid and test edges. Either ids of edges of one relation, or edges that stand apart from
/// the relations': what a model of links is to predict.
struct EdgeSplitSchema {
  std::string name;
  std::string relation;  ///< whose edge ids it holds; empty: it holds edges, EdgeSplit::Row each
  std::uint64_t train = 0;
  std::uint64_t valid = 0;
  std::uint64_t test = 0;
};

/// Many small graphs: each is a range of one type's nodes and all edges between them.
struct GraphCollectionSchema {
  std::string node_type;
  std::uint64_t count = 0;
  std::optional<LabelSchema> labels{};
  std::vector<SplitSchema> splits{};  ///< of graphs; their node_type is empty
};

/// Node ranges of a type and P x P buckets of the edges between them.
struct PartitionSchema {
  std::string node_type;
  std::uint64_t parts = 0;
  std::uint64_t frames = 0;  ///< that the buckets are stored in
};

struct GraphSchema {
  std::vector<NodeTypeSchema> nodes;
  std::vector<RelationSchema> relations;
  std::vector<SplitSchema> splits;  ///< of nodes
  std::vector<EdgeSplitSchema> edge_splits{};
  std::optional<GraphCollectionSchema> graphs{};
  std::optional<PartitionSchema> partitions{};

  /// Null when there is none of that name.
  const NodeTypeSchema* node_type(std::string_view name) const;
  const RelationSchema* relation(std::string_view key) const;
  const SplitSchema* split(std::string_view name) const;

  std::uint64_t total_nodes() const;
  std::uint64_t total_edges() const;
};

std::string_view to_string(LabelKind kind);
std::string_view to_string(IdKind kind);

}  // namespace sluice
