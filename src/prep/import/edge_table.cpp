#include "prep/import/edge_table.h"

#include "core/interrupt.h"
#include "prep/import/times.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace sluice {
namespace {

Place place_of(const TableReader& table) {
  return {table.path().string(), -1, -1, -1};
}

/// The column that holds both ends, where one does: the only one of a file of numbers, or one that
/// is named alone.
const ColumnInfo* find_pairs(const TableReader& table, const EdgeColumns& names) {
  const bool only = table.columns().size() == 1;
  const bool alone = names.target.empty() || names.target == names.source;
  if (!only && !alone) return nullptr;
  const ColumnInfo& column = table.column(only ? std::string() : names.source, 0);
  return !column.dtype || (!only && column.width == 1) ? nullptr : &column;
}

/// With what lies as [2, E] turned: it is [E, 2] from then on.
std::unique_ptr<TableReader> with_pairs(std::unique_ptr<TableReader> table,
                                        const EdgeColumns& names) {
  if (const ColumnInfo* pairs = find_pairs(*table, names)) {
    const std::string column = pairs->name;
    const bool columns = names.pairs == PairsChoice::kColumns;
    (void)table->turn_pairs(column, columns ? TwoByTwo::kColumns : TwoByTwo::kRows);
  }
  return table;
}

}  // namespace

EdgeTable::EdgeTable(std::unique_ptr<TableReader> table,
                     const EdgeColumns& columns,
                     ColumnType source_ids,
                     ColumnType target_ids,
                     const std::string& what,
                     ProgressStyle progress)
    : table_(with_pairs(std::move(table), columns)),
      names_(columns),
      progress_(progress, what, table_->num_rows().value_or(0), "edges") {
  if (const ColumnInfo* pairs = find_pairs(*table_, columns)) {
    select_pairs(*pairs, source_ids, target_ids);
  } else {
    select_columns(source_ids, target_ids);
  }
}

void EdgeTable::select_pairs(const ColumnInfo& pairs,
                             ColumnType source_ids,
                             ColumnType target_ids) {
  if (pairs.width != 2) {
    throw Error(ErrorCode::kData,
                fmt::format("edges need an array of [E, 2], this is [{}, {}]",
                            table_->num_rows() ? std::to_string(*table_->num_rows()) : "E",
                            pairs.width),
                "one row an edge: source, target",
                place_of(*table_));
  }
  pairs_ = true;
  names_.source = names_.target = pairs.name;
  std::vector<ColumnRequest> requests{
      {pairs.name, source_ids == target_ids ? source_ids : ColumnType::kText}};
  request_others(requests);
  table_->select(requests);
}

void EdgeTable::request_others(std::vector<ColumnRequest>& requests) {
  const ColumnType time = names_.time_scale == 0 ? ColumnType::kInteger : ColumnType::kReal;
  if (!names_.type.empty()) type_at_ = request(requests, names_.type, ColumnType::kText);
  if (!names_.time.empty()) time_at_ = request(requests, names_.time, time);
  if (!names_.weight.empty()) weight_at_ = request(requests, names_.weight, ColumnType::kReal);
  if (!names_.label.empty()) label_at_ = request(requests, names_.label, ColumnType::kInteger);
}

std::size_t EdgeTable::request(std::vector<ColumnRequest>& requests,
                               std::string& name,
                               ColumnType type) const {
  name = table_->column(name, requests.size()).name;
  requests.push_back({name, type});
  return requests.size() - 1;
}

void EdgeTable::select_columns(ColumnType source_ids, ColumnType target_ids) {
  std::vector<ColumnRequest> requests;
  request(requests, names_.source, source_ids);
  request(requests, names_.target, target_ids);
  if (names_.source == names_.target) {
    throw Error(ErrorCode::kData,
                fmt::format("source and target are both column '{}'", names_.source),
                "set source_column and target_column",
                place_of(*table_));
  }
  for (const std::string& name : {names_.source, names_.target}) {
    const std::uint32_t width = table_->column(name, 0).width;
    if (width == 1) continue;
    throw Error(ErrorCode::kData,
                fmt::format("column '{}' has {} numbers a row, where ids are asked", name, width),
                "set source_column and target_column to columns of one id a row",
                place_of(*table_));
  }
  request_others(requests);
  table_->select(requests);
}

void EdgeTable::split_pairs(std::span<const std::int64_t> pairs) {
  sources_.resize(pairs.size() / 2);
  targets_.resize(pairs.size() / 2);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    sources_[i] = pairs[2 * i];
    targets_[i] = pairs[2 * i + 1];
  }
}

void EdgeTable::take_times(const ColumnValues& values) {
  if (names_.time_scale == 0) return;
  scaled_times(values.reals, names_.time_scale, {*table_, chunk_.first_row, names_.time}, times_);
}

void EdgeTable::take_weights(const ColumnValues& values) {
  weights_.resize(values.reals.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double weight = values.reals[i];
    weights_[i] = static_cast<float>(weight);
    if (weight >= 0 && std::isfinite(weights_[i])) continue;
    throw table_->value_error(chunk_.first_row + i,
                              names_.weight,
                              fmt::format("the weight is {}", weight),
                              "weights are finite and not negative; other numbers are features");
  }
}

bool EdgeTable::next(Rows& rows) {
  throw_if_interrupted();
  if (!table_->next(chunk_)) return false;
  rows = {};
  rows.first_row = chunk_.first_row;
  if (pairs_) {
    split_pairs(chunk_.columns[0].integers);
    rows.source.integers = sources_;
    rows.target.integers = targets_;
  } else {
    rows.source = id_values(chunk_, 0);
    rows.target = id_values(chunk_, 1);
  }
  if (type_at_) rows.type = id_values(chunk_, *type_at_);
  if (time_at_) {
    take_times(chunk_.columns[*time_at_]);
    rows.times = names_.time_scale == 0 ? chunk_.columns[*time_at_].integers : times_;
  }
  if (weight_at_) {
    take_weights(chunk_.columns[*weight_at_]);
    rows.weights = weights_;
  }
  if (label_at_) rows.labels = chunk_.columns[*label_at_].integers;
  progress_.add(chunk_.rows);
  return true;
}

}  // namespace sluice
