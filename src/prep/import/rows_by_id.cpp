#include "prep/import/rows_by_id.h"

#include "core/interrupt.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace sluice {
namespace {

/// A table whose rows were gathered, and are handed out in the order of the nodes.
class GatheredRows final : public TableReader {
 public:
  GatheredRows(std::unique_ptr<TableReader> table,
               const std::string& id_column,
               ImportContext& context,
               NodeState& node,
               bool count_skipped)
      : TableReader({table->path(), &context.prep.ledger, &context.prep.arena}),
        table_(std::move(table)),
        id_column_(find_id_column(*table_, id_column).name),
        node_(node),
        count_skipped_(count_skipped),
        there_(context.prep.ledger),
        first_(node.first_new()),
        rows_(*node.ids.count() - first_) {}

  const std::vector<ColumnInfo>& columns() const override { return table_->columns(); }
  std::optional<std::uint64_t> num_rows() const override { return rows_; }

  void select(const std::vector<ColumnRequest>& requests) override {
    for (const ColumnRequest& request : requests) {
      const ColumnInfo& info = table_->column(request.name, 0);
      Gathered& column = columns_.emplace_back();
      column.type = request.type;
      column.row_bytes = request.type == ColumnType::kRaw ? info.width * size_of(*info.dtype)
                                                          : info.width * sizeof(double);
      column.values =
          AlignedBuffer::make(
              std::max<std::uint64_t>(rows_ * column.row_bytes, 1), source_.ledger, "rows by id")
              .or_throw();
    }
    std::vector<ColumnRequest> all = requests;
    all.push_back({id_column_, node_.ids.column_type(), EmptyCell::kRefuse, ColumnUse::kIds});
    table_->select(all);
    gather();
    check_all_there();
  }

  bool next(TableChunk& chunk) override {
    constexpr std::uint64_t kChunkRows = 1 << 14;
    if (next_ == rows_) return false;
    chunk.first_row = next_;
    chunk.rows = static_cast<std::size_t>(std::min(kChunkRows, rows_ - next_));
    chunk.columns.clear();
    for (Gathered& column : columns_)
      chunk.columns.push_back(view(column, static_cast<std::size_t>(next_), chunk.rows));
    next_ += chunk.rows;
    return true;
  }

  Error value_error(std::uint64_t row,
                    const std::string& column,
                    const std::string& reason,
                    const std::string& hint) const override {
    return {ErrorCode::kData,
            fmt::format("the row of node {}: column '{}': {}", first_ + row, column, reason),
            hint,
            Place{path().string(), -1, -1, -1}};
  }

 private:
  struct Gathered {
    ColumnType type = ColumnType::kReal;
    std::uint64_t row_bytes = 0;
    AlignedBuffer values;
  };

  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }

  static std::span<const std::byte> bytes_of(const ColumnValues& values, ColumnType type) {
    if (type == ColumnType::kRaw) return values.raw;
    return type == ColumnType::kReal ? std::as_bytes(values.reals) : std::as_bytes(values.integers);
  }

  static ColumnValues view(const Gathered& column, std::size_t first, std::size_t rows) {
    const auto bytes =
        column.values.bytes().subspan(first * column.row_bytes, rows * column.row_bytes);
    const std::size_t numbers = bytes.size() / sizeof(double);
    ColumnValues values;
    if (column.type == ColumnType::kRaw) values.raw = bytes;
    if (column.type == ColumnType::kReal)
      values.reals = {reinterpret_cast<const double*>(bytes.data()), numbers};
    if (column.type == ColumnType::kInteger)
      values.integers = {reinterpret_cast<const std::int64_t*>(bytes.data()), numbers};
    return values;
  }

  void gather() {
    std::vector<std::uint64_t> nodes;
    for (TableChunk chunk; table_->next(chunk);) {
      throw_if_interrupted();
      const IdValues ids = id_values(chunk, columns_.size());
      node_.ids.find(ids, {*table_, chunk.first_row, id_column_}, nodes, *source_.arena);
      for (std::size_t row = 0; row < chunk.rows; ++row) take(chunk, row, nodes[row], ids);
    }
  }

  void take(const TableChunk& chunk, std::size_t row, std::uint64_t node, const IdValues& ids) {
    if (node == kNoNode) {
      if (count_skipped_) ++node_.skipped;
      return;
    }
    const bool twice = node >= first_ && there_.get(node);
    if (node < first_ || twice) {
      throw table_->value_error(
          chunk.first_row + row,
          id_column_,
          twice ? fmt::format("the id {} stands here again", ids.shown(row))
                : fmt::format("the id {} is of a node that was there before", ids.shown(row)),
          twice ? "each node has one row" : "append rows of new nodes alone");
    }
    there_.set(node);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Gathered& column = columns_[i];
      const auto from = bytes_of(chunk.columns[i], column.type);
      std::memcpy(column.values.data() + (node - first_) * column.row_bytes,
                  from.data() + row * column.row_bytes,
                  column.row_bytes);
    }
  }

  void check_all_there() const {
    std::uint64_t missing = 0, first = 0;
    for (std::uint64_t node = first_ + rows_; node-- > first_;) {
      if (there_.get(node)) continue;
      ++missing;
      first = node;
    }
    if (missing == 0) return;
    throw Error(
        ErrorCode::kData,
        fmt::format("{} of the {} nodes of type '{}' have no row here, the first is node {}",
                    format_count(missing),
                    format_count(rows_),
                    node_.spec.type,
                    first),
        "every node needs one row under its id; list the nodes that have rows in id_list, "
        "and say unknown_ids = \"skip\" to leave out the edges of others",
        Place{path().string(), -1, -1, -1});
  }

  std::unique_ptr<TableReader> table_;
  std::string id_column_;
  NodeState& node_;
  bool count_skipped_;
  NodeBits there_;
  std::uint64_t first_, rows_;
  std::vector<Gathered> columns_;
  std::uint64_t next_ = 0;
};

/// A node a row, where nothing else says how many there are.
void count_rows(ImportContext& context, NodeState& node, const RowsById& rows) {
  if (node.ids.count()) return;
  const auto table = context.open(rows.file, rows.format);
  const std::string column = find_id_column(*table, rows.id_column).name;
  table->select({{column, node.ids.column_type(), EmptyCell::kRefuse, ColumnUse::kIds}});
  std::uint64_t count = 0;
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    count += chunk.rows;
  }
  node.ids.set_count(
      node.first_new() + count, rows.file, Place{table->path().string(), -1, -1, -1});
}

}  // namespace

void order_by_id(RowTarget& target, ImportContext& context, NodeState& node, const RowsById& rows) {
  if (rows.id_column.empty()) return;
  count_rows(context, node, rows);
  // Statistics read the table several times; rows of unknown ids are counted once.
  target.order = [&context, &node, id_column = rows.id_column, first = true](
                     std::unique_ptr<TableReader> table) mutable {
    return std::make_unique<GatheredRows>(
        std::move(table), id_column, context, node, std::exchange(first, false));
  };
}

}  // namespace sluice
