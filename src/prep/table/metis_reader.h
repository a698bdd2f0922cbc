// MetisReader: graphs as METIS and Chaco give them: a line "nodes edges [fmt [weights]]", then a
// line a node that lists its neighbours, counted from 1. Tables: edges (source, target, and weight
// where there are some; each edge stands twice, as in the file) and nodes (id, weight0, ..., size).
//
// All of the file is checked, whichever table is read. Lines may be of any length.
#pragma once

#include "prep/table/row_columns.h"
#include "prep/table/table_reader.h"
#include "prep/table/text_tokens.h"

#include <sluice/options.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class MetisReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 2> kExtensions{".metis", ".graph"};
  static constexpr bool kText = true;  ///< files may be compressed

  struct Options {
    ByteSize block{kMiB};  ///< text that is held in memory at a time

    void describe(Schema& schema);
  };

  MetisReader(const Options& options, const TableSource& source);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return std::nullopt; }
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  std::optional<std::int64_t> line_of(std::uint64_t row) const override;

  void read_header();
  void read_format(const std::vector<std::string>& fields);
  void take_field();
  void take_neighbour();
  void end_line();
  void finish();
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

  TextTokens tokens_;
  bool nodes_asked_;  // the table of nodes, else that of edges
  std::vector<ColumnInfo> columns_;
  std::optional<RowColumns> rows_;
  std::uint64_t first_row_ = 0;  // of the chunk

  std::int64_t header_line_ = 0;
  std::int64_t num_nodes_ = 0;
  std::int64_t num_edges_ = 0;
  bool sizes_ = false;
  bool edge_weights_ = false;
  std::int64_t node_weights_ = 0;  // a node

  std::int64_t node_ = 1;     // whose line is read, from 1
  std::int64_t entries_ = 0;  // neighbours so far
  std::int64_t field_ = 0;    // fields of the line so far
  bool weight_next_ = false;  // that of the neighbour read last
  bool done_ = false;
};

}  // namespace sluice
