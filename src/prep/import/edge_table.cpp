#include "prep/import/edge_table.h"

#include "core/interrupt.h"
#include "prep/import/import_context.h"
#include "prep/table/column_use.h"

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

void TextColumn::clear() {
  offsets_.assign(1, 0);
  bytes_.clear();
}

void TextColumn::add(std::string_view text) {
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  offsets_.push_back(static_cast<std::int32_t>(bytes_.size()));
}

EdgeTable::EdgeTable(std::unique_ptr<TableReader> table,
                     const EdgeColumns& columns,
                     ColumnType source_ids,
                     ColumnType target_ids,
                     const std::string& what,
                     ProgressStyle progress)
    : table_(with_pairs(std::move(table), columns)),
      names_(columns),
      source_ids_(source_ids),
      target_ids_(target_ids),
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
  refuse_truths_as_ids(*table_, pairs);
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
  const bool texts = source_ids == ColumnType::kText && target_ids == ColumnType::kText;
  std::vector<ColumnRequest> requests{{pairs.name,
                                       texts ? ColumnType::kText : ColumnType::kInteger,
                                       EmptyCell::kRefuse,
                                       ColumnUse::kIds}};
  request_others(requests);
  table_->select(requests);
}

void EdgeTable::request_others(std::vector<ColumnRequest>& requests) {
  if (!names_.type.empty())
    type_at_ = request(requests, names_.type, ColumnType::kText, ColumnUse::kOther);
  if (!names_.time.empty()) {
    times_.emplace(*table_,
                   table_->column(names_.time, requests.size()),
                   TimeRule{names_.time_scale, names_.time_unit});
    time_at_ = request(requests, names_.time, times_->type(), ColumnUse::kTimes);
  }
  if (!names_.weight.empty())
    weight_at_ = request(requests, names_.weight, ColumnType::kReal, ColumnUse::kWeights);
  if (!names_.label.empty())
    label_at_ = request(requests, names_.label, ColumnType::kInteger, ColumnUse::kTruths);
}

std::size_t EdgeTable::request(std::vector<ColumnRequest>& requests,
                               std::string& name,
                               ColumnType type,
                               ColumnUse use) const {
  name = table_->column(name, requests.size()).name;
  requests.push_back({name, type, EmptyCell::kRefuse, use});
  return requests.size() - 1;
}

void EdgeTable::select_columns(ColumnType source_ids, ColumnType target_ids) {
  std::vector<ColumnRequest> requests;
  request(requests, names_.source, source_ids, ColumnUse::kIds);
  request(requests, names_.target, target_ids, ColumnUse::kIds);
  if (names_.source == names_.target) {
    throw Error(ErrorCode::kData,
                fmt::format("source and target are both column '{}'", names_.source),
                "set source_column and target_column",
                place_of(*table_));
  }
  for (const std::string& name : {names_.source, names_.target}) {
    refuse_truths_as_ids(*table_, table_->column(name, 0));
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

/// The ids at one end of pairs, as their type names them. @param end 0 or 1
IdValues EdgeTable::end_of_pairs(const ColumnValues& pairs,
                                 std::size_t end,
                                 ColumnType ids,
                                 std::vector<std::int64_t>& integers,
                                 TextColumn& texts) const {
  if (ids != ColumnType::kText) {
    integers.resize(pairs.integers.size() / 2);
    for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = pairs.integers[2 * i + end];
    return {integers, {}};
  }
  texts.clear();
  for (std::size_t i = end; i < pairs.integers.size(); i += 2)
    texts.add(fmt::format_int(pairs.integers[i]).c_str());
  for (std::size_t i = end; i < pairs.text.size(); i += 2) texts.add(pairs.text[i]);
  return {{}, texts.view()};
}

void EdgeTable::split_pairs(const ColumnValues& pairs, Rows& rows) {
  rows.source = end_of_pairs(pairs, 0, source_ids_, sources_, source_texts_);
  rows.target = end_of_pairs(pairs, 1, target_ids_, targets_, target_texts_);
}

void EdgeTable::take_weights(const ColumnValues& values) {
  weights_.resize(values.reals.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const double weight = values.reals[i];
    weights_[i] = static_cast<float>(weight);
    rounded_weight_.look(weight);
    if (weight >= 0 && std::isfinite(weights_[i])) continue;
    throw table_->value_error(chunk_.first_row + i,
                              names_.weight,
                              fmt::format("the weight is {}", weight),
                              "weights are finite and not negative; other numbers are features");
  }
}

std::vector<std::string> EdgeTable::remarks() const {
  std::vector<std::string> remarks = times_ ? times_->remarks() : std::vector<std::string>();
  if (const std::string rounded = rounded_weight_.remark("weights"); !rounded.empty())
    remarks.push_back(rounded);
  return remarks;
}

bool EdgeTable::next(Rows& rows) {
  throw_if_interrupted();
  if (!table_->next(chunk_)) return false;
  rows = {};
  rows.first_row = chunk_.first_row;
  if (pairs_) {
    split_pairs(chunk_.columns[0], rows);
  } else {
    rows.source = id_values(chunk_, 0);
    rows.target = id_values(chunk_, 1);
  }
  if (type_at_) rows.type = id_values(chunk_, *type_at_);
  if (time_at_) rows.times = times_->take(chunk_.columns[*time_at_], chunk_.first_row);
  if (weight_at_) {
    take_weights(chunk_.columns[*weight_at_]);
    rows.weights = weights_;
  }
  if (label_at_) rows.labels = chunk_.columns[*label_at_].integers;
  progress_.add(chunk_.rows);
  return true;
}

}  // namespace sluice
