// NodeIds: how the files name the nodes of one type, whatever the kind of id: dense, integer or
// string.
//
// Filled first (declared, listed or collected), then looked up. Lookups are parallel inside, with
// one result.
#pragma once

#include "prep/import/id_map.h"
#include "prep/table/table_reader.h"
#include "storage/format/dataset_writer.h"

#include <sluice/dataset.h>
#include <sluice/graph_schema.h>

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sluice {

/// What becomes of a row that names a node that is not there.
enum class UnknownIds {
  kError,
  kSkip,   ///< the row is left out, and counted
  kCreate  ///< edges only: it is a node from now on, behind those that were listed
};

/// A column of ids in a chunk: one of the two is filled, as NodeIds::column_type asks.
struct IdValues {
  std::span<const std::int64_t> integers;
  TextValues text;

  std::size_t size() const { return integers.empty() ? text.size() : integers.size(); }
  std::string shown(std::size_t index) const;
};

/// Where ids come from, for messages.
struct IdPlace {
  const TableReader& table;
  std::uint64_t first_row;
  const std::string& column;
};

/// How the ids of a type are read.
struct IdRules {
  IdKind kind = IdKind::kDense;
  std::int64_t first_id = 0;  ///< of dense ids
  UnknownIds unknown = UnknownIds::kError;
};

class NodeIds {
 public:
  NodeIds(std::string type, const IdRules& rules, MemoryLedger& ledger);

  IdKind kind() const { return rules_.kind; }
  UnknownIds unknown() const { return rules_.unknown; }
  std::int64_t first_id() const { return rules_.first_id; }  ///< of dense ids
  /// How results name these nodes: by their names; dense ids that do not begin with 0 are kept as
  /// integers.
  IdKind stored_kind() const {
    if (names_) return IdKind::kString;
    return kind() == IdKind::kDense && rules_.first_id != 0 ? IdKind::kInteger : kind();
  }
  ColumnType column_type() const {
    return kind() == IdKind::kString ? ColumnType::kText : ColumnType::kInteger;
  }

  /// Number of nodes, once that is known.
  std::optional<std::uint64_t> count() const { return count_; }
  /// States the number of nodes; a kData error when `from` and what was stated before differ.
  void set_count(std::uint64_t count, const std::string& from, const Place& place);
  /// There are at least so many nodes of dense ids; more may be created.
  void expect_dense(std::uint64_t count);
  /// Ids that edges name make the nodes of dense ids, up to the largest. @param nodes of `ids`
  void note_dense(const IdValues& ids, const IdPlace& place, std::span<const std::uint64_t> nodes);
  /// What is odd about the number of nodes that close() found: far more than were named.
  std::string doubt() const;
  /// Nodes so far. @pre ids are being collected or listed
  std::uint64_t taken() const;

  /// Takes in ids that must be new. @pre kind is not dense
  void list(const IdValues& ids, const IdPlace& place);
  /// Takes over the ids of a type that is stored already; its count is not known by that, as more
  /// may be listed. @pre nothing was taken in
  void load(const ExternalIds& ids, std::uint64_t count);
  /// What the nodes are called: they are stored under these names, and are as many. Files go on to
  /// name them by number. @pre kind is dense
  void name(StringIdMap names, const std::string& from, const Place& place);
  /// Ends collecting or listing: what is there now is all there is. Throws Error(kData) for dense
  /// ids of which the largest is far beyond how many there are.
  void close(const std::string& from);

  /// The nodes of ids. An unknown one is a kData error naming file, line and column, or kNoNode
  /// where rows with unknown ids are skipped. @pre count is known
  void find(const IdValues& ids,
            const IdPlace& place,
            std::vector<std::uint64_t>& nodes,
            ThreadArena& arena) const;

  /// The node of a text, a new one for a new text. @pre kind is string
  std::uint64_t take_text(std::string_view text) { return std::get<StringIdMap>(map_).take(text); }
  /// Whether a node is called so; false where ids are no strings.
  bool has_text(std::string_view text) const {
    const auto* strings = std::get_if<StringIdMap>(&map_);
    return strings != nullptr && strings->find(text) != kNoNode;
  }
  /// The strings that were taken in; null where ids are no strings.
  const StringIdMap* strings() const { return std::get_if<StringIdMap>(&map_); }
  /// Ids of the strings that were taken in. @pre kind is string
  std::vector<std::string> texts() const;

  /// Writes ids.bin (integers: i64 a node) or ids.offsets.bin and ids.bin (strings); nothing for
  /// dense ids.
  void write(DatasetWriter& writer) const;

 private:
  friend void collect_rows(std::span<const struct NodeIdColumn> columns, ThreadArena& arena);

  void check_usable(const IdValues& ids, std::size_t index, const IdPlace& place) const;
  bool usable(const IdValues& ids, std::size_t index) const;
  bool is_new(const IdValues& ids, std::size_t index);
  std::uint64_t take(const IdValues& ids, std::size_t index);
  bool find_range(const IdValues& ids,
                  std::size_t begin,
                  std::size_t end,
                  std::uint64_t* nodes) const;
  std::uint64_t dense_node(std::int64_t id) const {
    return static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(rules_.first_id);
  }
  [[noreturn]] void fail_unknown(const IdValues& ids,
                                 std::size_t index,
                                 const IdPlace& place) const;

  std::string type_;
  IdRules rules_;
  std::optional<std::uint64_t> count_;
  std::string count_from_;
  std::uint64_t dense_ = 0;       // dense: nodes so far, while the largest id is looked for
  std::uint64_t named_ = 0;       // ids that edges named so far, again and again
  std::optional<Error> largest_;  // where the largest stands, when it is large
  std::variant<std::monostate, IntegerIdMap, StringIdMap> map_;
  std::optional<StringIdMap> names_;  // of dense ids
};

/// A column of ids on its way to nodes.
struct NodeIdColumn {
  NodeIds& ids;
  const IdValues& values;
  IdPlace place;
  std::vector<std::uint64_t>& nodes;  ///< out, by row
  bool collect = false;               ///< unknown ids become new nodes; else as find()
};

/// The nodes of columns of the same rows. New ids become nodes in the order of the file: row by
/// row, and in a row column by column, whatever the threads.
void collect_rows(std::span<const NodeIdColumn> columns, ThreadArena& arena);

}  // namespace sluice
