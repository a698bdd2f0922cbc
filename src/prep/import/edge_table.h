// EdgeTable: a table of edges as columns of ids, wherever they stand (two columns, or one matrix of
// two), and what stands beside them: times, weights, types. Private to src/prep/import.
#pragma once

#include "core/progress.h"
#include "prep/import/graph_spec.h"
#include "prep/import/node_ids.h"
#include "prep/import/rounded_numbers.h"
#include "prep/import/time_column.h"
#include "prep/table/table_reader.h"
#include "prep/table/table_values.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Which columns of a table of edges are read, and how its ids are named.
struct EdgeColumns {
  std::string source, target;             ///< empty: the first column and the second
  std::string type, time, weight, label;  ///< empty: not read
  double time_scale = 0;
  PairsChoice pairs = PairsChoice::kAuto;  ///< settled: kAuto is kRows
  TickUnit time_unit = TickUnit::kStored;
};

/// Texts laid end to end, made one by one.
class TextColumn {
 public:
  void clear();
  void add(std::string_view text);
  TextValues view() const { return {offsets_, bytes_.data()}; }

 private:
  std::vector<std::int32_t> offsets_{0};
  std::vector<char> bytes_;
};

class EdgeTable {
 public:
  /// @param source_ids, target_ids what the ids are: integers or text
  EdgeTable(std::unique_ptr<TableReader> table,
            const EdgeColumns& columns,
            ColumnType source_ids,
            ColumnType target_ids,
            const std::string& what,
            ProgressStyle progress);

  /// The next rows; views are valid until the next call.
  struct Rows {
    IdValues source, target, type;
    std::span<const std::int64_t> times;
    std::span<const float> weights;
    std::span<const std::int64_t> labels;
    std::uint64_t first_row = 0;

    std::size_t size() const { return source.size(); }
  };
  bool next(Rows& rows);

  /// Where the file says it beforehand.
  std::optional<std::uint64_t> num_rows() const { return table_->num_rows(); }
  const TableReader& reader() const { return *table_; }
  /// What was rounded or taken for granted of its times and weights so far.
  std::vector<std::string> remarks() const;

  IdPlace source_place(const Rows& rows) const { return {*table_, rows.first_row, names_.source}; }
  IdPlace target_place(const Rows& rows) const { return {*table_, rows.first_row, names_.target}; }
  IdPlace type_place(const Rows& rows) const { return {*table_, rows.first_row, names_.type}; }

 private:
  void select_pairs(const ColumnInfo& pairs, ColumnType source_ids, ColumnType target_ids);
  void request_others(std::vector<ColumnRequest>& requests);
  void select_columns(ColumnType source_ids, ColumnType target_ids);
  std::size_t request(std::vector<ColumnRequest>& requests,
                      std::string& name,
                      ColumnType type,
                      ColumnUse use) const;
  void split_pairs(const ColumnValues& pairs, Rows& rows);
  IdValues end_of_pairs(const ColumnValues& pairs,
                        std::size_t end,
                        ColumnType ids,
                        std::vector<std::int64_t>& integers,
                        TextColumn& texts) const;
  void take_weights(const ColumnValues& values);

  std::unique_ptr<TableReader> table_;
  EdgeColumns names_;
  bool pairs_ = false;
  std::optional<std::size_t> type_at_, time_at_, weight_at_, label_at_;  // of the chunk's columns
  ColumnType source_ids_, target_ids_;
  std::vector<std::int64_t> sources_, targets_;  // of a matrix; as long as one chunk
  TextColumn source_texts_, target_texts_;       // the same of ids that are texts
  std::optional<TimeColumn> times_;
  std::vector<float> weights_;
  RoundedAmount rounded_weight_;
  TableChunk chunk_;
  Progress progress_;
};

}  // namespace sluice
