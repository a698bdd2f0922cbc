// The steps of FilesLayout. Private to src/prep/layout.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/layout/file_roles.h"
#include "prep/layout/layout.h"
#include "prep/layout/mask_guess.h"
#include "prep/layout/table_guess.h"
#include "prep/layout/table_ids.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class FilesGuess {
 public:
  explicit FilesGuess(const FileSet& files) : files_(files), made_(files) {}
  Description run();

 private:
  /// A table of edges and the types at its ends.
  struct Edges {
    EdgeGuess guess;
    std::string name;   ///< of its file, or of what its parts are called
    std::string value;  ///< of the folders KEY=VALUE above it
    std::string source = "node", relation = "edge", target = "node";
    bool typed = false;  ///< its name says the types
  };

  /// A table whose name says nothing; it may hold edges.
  struct Table {
    FileRole role;
    EdgeGuess guess;  ///< its glance, and the ends where there may be some
  };

  /// A column of a table that may hold the ids of nodes, and how much of each end it holds.
  struct KeyColumn {
    std::size_t table = 0, column = 0;
    std::vector<IdShare> shares;
  };

  /// One end of a table of edges.
  struct EdgeEnd {
    std::size_t edges = 0;
    bool target = false;
    std::string column;
    IdSample sample;
    bool told = true;                ///< its ids tell, as texts and scattered numbers do
    std::optional<std::size_t> key;  ///< of keys_: the table of its nodes
  };

  /// The table of a type's nodes.
  struct NodeTable {
    std::size_t table = 0, column = 0;
    IdShare share;
    bool whole = true;                ///< all edges were looked at
    std::string edges;                ///< their files, for comments
    std::vector<std::size_t> others;  ///< keys_ of tables with the same ids
  };

  /// A file of rows that has a column of ids.
  struct RowsWithIds {
    FileRole::Kind kind;
    std::string file, format, column;
    ColumnGlance ids;
    bool whole;
  };

  /// The mask columns of a table of nodes.
  struct TableMasks {
    std::string type, file, format;
    std::string id;  ///< the column of ids that they go by; empty: its rows are the nodes' own
    MaskColumns columns;
  };

  /// A file of one mask.
  struct MaskFile {
    std::string file, format;
    std::string part, split;  ///< as its name says
    std::string column;       ///< empty: the first
    std::uint64_t rows = 0;   ///< 0: not known
    bool by_id = false;       ///< ids stand beside it, by their name
  };

  // Which files are tables, and what their names say: files_roles.cpp.
  void find_roles();
  void find_header();
  void add_role(const std::string& file, const std::string& name, const std::string& value);
  void add_folders(const std::vector<struct TableFiles>& tables);

  // Which files hold edges: files_edges.cpp.
  void find_edges();
  void add_relation(const FileRole& role);
  std::optional<EdgeGuess> try_table(const std::string& file);
  void look_at_tables();
  void choose_edges();
  void add_edges(Table table);
  void add_other_edges();
  void keep_likely_edges();
  void name_relations();
  [[noreturn]] void refuse() const;
  void describe_edges();
  void describe_edge(Edges& edges, const std::string& path);
  void describe_types(EdgeSpec& edge, const EdgeGuess& guess, const std::string& path);
  void describe_pairs(EdgeSpec& edge, const EdgeGuess& guess, const std::string& path);
  void describe_graphs(const EdgeGuess& guess);
  void describe_metis(const EdgeGuess& guess);
  void describe_market(const Edges& edges, const std::string& path);

  // Which tables list nodes: files_tables.cpp.
  bool lists_nodes_of_others(std::size_t table);
  bool numbers_nodes_of_others(std::size_t table);
  static bool numbered(const Table& table);
  std::vector<std::size_t> key_columns(const Table& table) const;
  bool meets_ids(const ColumnGlance& column, const std::vector<const IdSample*>& samples) const;
  IdSample sample_end(const EdgeGuess& guess, bool target) const;
  void find_ends();
  void find_keys();
  std::vector<std::size_t> readings_of(std::size_t end) const;
  bool is_akin(const KeyColumn& key, const EdgeEnd& end) const;
  void claim_ends();
  void name_types();
  void share_all_ends();
  void say_readings(const std::vector<std::size_t>& ends, const std::vector<std::size_t>& keys);
  void say_unclaimed();
  std::string key_text(const KeyColumn& key) const;

  // What a table of nodes holds: files_columns.cpp.
  void describe_node_ids(NodeSpec& node);
  void describe_node_columns(NodeSpec& node);
  void take_columns(NodeSpec& node, const Table& table, std::size_t key, bool own);

  // What stands beside nodes, and how they are named: files_nodes.cpp.
  void describe_nodes();
  void place_rows(const FileRole& role);
  void place_by_id(NodeSpec& node, const FileRole& role, const TableGlance& seen, std::size_t id);
  TableGlance leave_texts_out(NodeSpec& node, const std::string& file, const TableGlance& seen);
  std::optional<std::size_t> find_row_ids(const NodeSpec& node,
                                          const std::string& file,
                                          const TableGlance& seen);
  NodeSpec* node_of(const FileRole& role, std::uint64_t rows);
  std::uint64_t rows_of(const std::string& file);
  void describe_ids(NodeSpec& node, const std::string& path);
  void settle_rows(NodeSpec& node);
  void list_ids(NodeSpec& node);

  // Files of ids and what stands beside them: files_splits.cpp.
  void describe_splits();
  void offer_split();
  void add_to_split(const FileRole& role);
  void add_split_labels(const FileRole& role);
  void drop_trainless();
  bool holds_edges(const std::string& file);
  void say_beside_ids(const std::string& file, const std::string& path);

  // Files of masks, and whose their rows are: files_masks.cpp.
  void find_masks();
  void find_mask(const FileRole& role, const TableGlance& seen, const std::string& format);
  void say_mask_matrices(const std::vector<std::pair<std::string, TableGlance>>& files);
  bool is_mask(const std::string& file) const;
  std::string why_no_mask(const MaskFile& mask, const NodeSpec& node) const;
  std::string why_unordered(const MaskFile& mask, const NodeSpec& node) const;
  std::string why_uncounted(const MaskFile& mask,
                            const NodeSpec& node,
                            std::int64_t first_id) const;
  bool is_counted(const NodeSpec& node) const;
  void count_by_mask(const MaskFile& mask, NodeSpec& node);

  // Splits by masks, of files and of columns: files_mask_splits.cpp.
  void add_mask_files();
  void add_mask_columns();
  std::string usual_type() const;
  NodeSpec* node_of_mask(const MaskFile& mask);
  SplitSpec* split_for(const MaskFile& mask, const NodeSpec& node);
  SplitSpec* claim_split(const std::string& name, const std::string& type);
  void say_masks();

  // files.cpp
  bool use_text(const std::string& file, TextGuess& text);
  std::string say_unread(const std::string& file) const;
  std::string where(const NodeSpec& node) const;

  const FileSet& files_;
  Description made_;
  std::vector<FileRole> roles_;
  std::vector<Edges> edges_;
  std::vector<Table> tables_;  ///< those that are no edges
  std::vector<EdgeEnd> ends_;
  std::vector<KeyColumn> keys_;
  std::map<std::string, NodeTable> node_tables_;                ///< by type
  std::map<std::string, std::vector<RowsWithIds>> rows_by_id_;  ///< by type
  std::vector<TableMasks> table_masks_;
  std::vector<MaskFile> masks_;
  std::set<std::string> unclear_;         ///< files that may hold edges or list nodes
  std::set<std::string> said_;            ///< files that were spoken of
  std::optional<std::string> header_in_;  ///< a .csv file whose first line surely names columns
  std::vector<std::pair<std::string, Error>> problems_;  ///< files that could not be read
  std::string train_;  ///< the file of edges, where it is the train part of a split
  std::map<std::string, std::string> options_;  ///< set so far, by format
  std::map<std::string, std::uint64_t> rows_;   ///< of what stands beside nodes, by type
};

}  // namespace sluice
