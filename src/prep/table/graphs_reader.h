// GraphsReader: many small graphs in one text, as graph kernels' data sets come: a line with their
// number; for each a line "nodes label", then a line a node: "tag degree neighbour...", neighbours
// counted from 0 within the graph, maybe followed by attributes. Tables: edges (source, target:
// nodes of all graphs counted through), nodes (graph, tag, attr0, ...) and graphs (label, nodes).
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

class GraphsReader final : public TableReader {
 public:
  static constexpr std::array<std::string_view, 0> kExtensions{};  // such files are called .txt

  struct Options {
    ByteSize block{kMiB};  ///< text that is held in memory at a time

    void describe(Schema& schema);
  };

  GraphsReader(const Options& options, const TableSource& source);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return std::nullopt; }
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;

 private:
  enum class Table { kEdges, kNodes, kGraphs };
  enum class State { kCount, kGraph, kNode, kBehind };  ///< what the line is

  std::optional<std::int64_t> line_of(std::uint64_t row) const override;

  void take_field();
  void take_graph_field(std::int64_t at);
  void take_node_field(std::int64_t at);
  void take_neighbour();
  void end_line();
  void end_graph_line();
  void end_node_line();
  void finish();
  std::int64_t count_field(const std::string& what) const;
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

  Table table_;
  std::int64_t attributes_;  // a node
  std::vector<ColumnInfo> columns_;
  TextTokens tokens_;
  std::optional<RowColumns> rows_;
  std::uint64_t first_row_ = 0;  // of the chunk

  State state_ = State::kCount;
  bool done_ = false;
  std::int64_t num_graphs_ = 0;
  std::int64_t graph_ = 0;       // that is read, from 0
  std::int64_t graph_line_ = 0;  // where it begins
  std::int64_t num_nodes_ = 0;   // of the graph
  std::int64_t node_ = 0;        // of the graph, from 0
  std::int64_t first_node_ = 0;  // of the graph, counted through all
  std::int64_t degree_ = 0;      // of the node
  std::int64_t field_ = 0;       // fields of the line so far
};

}  // namespace sluice
