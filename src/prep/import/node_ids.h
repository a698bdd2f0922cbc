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
#include <string>
#include <variant>
#include <vector>

namespace sluice {

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

class NodeIds {
 public:
  NodeIds(std::string type, IdKind kind, MemoryLedger& ledger);

  IdKind kind() const { return kind_; }
  ColumnType column_type() const {
    return kind_ == IdKind::kString ? ColumnType::kText : ColumnType::kInteger;
  }

  /// Number of nodes, once that is known.
  std::optional<std::uint64_t> count() const { return count_; }
  /// States the number of nodes; a kData error when `from` and what was stated before differ.
  void set_count(std::uint64_t count, const std::string& from, const Place& place);

  /// Takes in an id that need not be new: a dense one raises the largest, another gets the next
  /// node.
  void collect(const IdValues& ids, std::size_t index, const IdPlace& place);
  /// Takes in ids that must be new. @pre kind is not dense
  void list(const IdValues& ids, const IdPlace& place);
  /// Takes over the ids of a type that is stored already; its count is not known by that, as more
  /// may be listed. @pre nothing was taken in
  void load(const ExternalIds& ids, std::uint64_t count);
  /// Ends collecting or listing: what is there now is all there is.
  void close(const std::string& from);

  /// The nodes of ids; an unknown one is a kData error naming file, line and column. @pre count is
  /// known
  void find(const IdValues& ids,
            const IdPlace& place,
            std::vector<std::uint64_t>& nodes,
            ThreadArena& arena) const;

  /// Writes ids.bin (integers: i64 a node) or ids.offsets.bin and ids.bin (strings); nothing for
  /// dense ids.
  void write(DatasetWriter& writer) const;

 private:
  void check_usable(const IdValues& ids, std::size_t index, const IdPlace& place) const;
  bool add(const IdValues& ids, std::size_t index);
  std::uint64_t find_one(const IdValues& ids, std::size_t index) const;
  [[noreturn]] void fail_unknown(const IdValues& ids,
                                 std::size_t index,
                                 const IdPlace& place) const;

  std::string type_;
  IdKind kind_;
  std::optional<std::uint64_t> count_;
  std::string count_from_;
  std::int64_t largest_ = -1;  // dense
  std::variant<std::monostate, IntegerIdMap, StringIdMap> map_;
};

}  // namespace sluice
