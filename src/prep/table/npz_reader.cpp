#include "prep/table/npz_reader.h"

#include "prep/table/npz_sparse_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice {

NpzReader::NpzReader(Options /*options*/, const TableSource& source)
    : TableReader(source),
      archive_(source.path),
      arrays_(list_npz_arrays(archive_)),
      sparse_(NpzSparse::find(archive_, arrays_, source)),
      parts_(arrays_) {
  if (sparse_) {
    columns_ = sparse_->columns();
    rows_ = sparse_->entries();
    return;
  }
  bool agree = true;
  for (NpzArray& array : arrays_) {
    if (!array.readable()) continue;
    const NpyHeader& header = array.is.header;
    columns_.push_back(
        {array.name, header.dtype, static_cast<std::uint32_t>(header.width()), header.truth()});
    of_column_.push_back(&array);
    agree = agree && header.rows() == of_column_.front()->is.header.rows();
  }
  if (columns_.empty()) {
    const std::string& why =
        arrays_.empty() ? "it has no member 'NAME.npy'"
                        : fmt::format("'{}' {}", arrays_[0].name, arrays_[0].is.problem->message());
    throw Error(ErrorCode::kData,
                fmt::format("holds no array that is a column: {}", why),
                "save arrays of numbers of one dimension or two: numpy.savez(file, name=array)",
                Place{source.path.string(), -1, -1, -1});
  }
  if (agree) rows_ = of_column_.front()->is.header.rows();
}

std::string NpzReader::why_no_column(const std::string& name) const {
  for (const NpzArray& array : arrays_) {
    if (array.name != name) continue;
    if (array.is.problem) return array.is.problem->message();
    return "it is a part of a sparse matrix, which is seen as its entries";
  }
  return {};
}

std::size_t NpzReader::index_of(const std::string& name) const {
  const auto found = std::find_if(
      columns_.begin(), columns_.end(), [&](const ColumnInfo& info) { return info.name == name; });
  return static_cast<std::size_t>(found - columns_.begin());
}

std::uint64_t NpzReader::rows_of(std::size_t column) const {
  if (by_rows_) return sparse_->rows();
  return sparse_ ? sparse_->entries() : of_column_[column]->is.header.rows();
}

void NpzReader::refuse_parts() const {
  const std::vector<std::string> names = parts_.names();
  const std::string save = "save each alone with scipy.sparse.save_npz";
  throw Error(ErrorCode::kData,
              names.empty()
                  ? std::string("holds a sparse matrix in parts, beside other arrays")
                  : fmt::format("holds sparse matrices in parts: {}", fmt::join(names, ", ")),
              names.empty() ? save
                            : fmt::format("name one: file = \"{}#{}\"; or {}",
                                          path().filename().string(),
                                          names.front(),
                                          save),
              Place{path().string(), -1, -1, -1});
}

bool NpzReader::turn_sparse(const std::vector<std::string>& columns, SparseEntries entries) {
  if (!sparse_) {
    const auto is_part = [&](const std::string& name) { return parts_.has(name); };
    if (parts_.any() && (columns.empty() || std::any_of(columns.begin(), columns.end(), is_part)))
      refuse_parts();
    return false;
  }
  if (!columns.empty() && entries == SparseEntries::kAllow) return false;
  if (!columns.empty())
    throw Error(ErrorCode::kData,
                "is a sparse matrix, which is taken by its rows: its columns have no names",
                "leave columns out, or save some of them: scipy.sparse.save_npz(file, m[:, :10])",
                Place{path().string(), -1, -1, -1});
  columns_ = {sparse_->row_column()};
  rows_ = sparse_->rows();
  by_rows_ = true;
  return true;
}

std::unique_ptr<NpzColumn> NpzReader::open(std::size_t column) const {
  if (by_rows_) return std::make_unique<SparseRows>(*sparse_, *this, source_.ledger);
  if (sparse_) return sparse_->open(column, *this);
  const NpzArray& array = *of_column_[column];
  const NpyHeader& header = array.is.header;
  const bool columns_first = header.fortran_order && header.rows() > 1 && header.width() > 1;
  if (columns_first && header.width() == 2) return std::make_unique<NpzPairs>(archive_, array);
  if (columns_first) {
    throw archive_.member_error(array.member,
                                "is in Fortran order, which cannot be streamed",
                                "save numpy.ascontiguousarray(a)");
  }
  return std::make_unique<NpzElements>(archive_, array);
}

bool NpzReader::turn_pairs(const std::string& column, TwoByTwo two_by_two) {
  const std::size_t index = index_of(column);
  if (sparse_ || index == columns_.size()) return false;
  NpyHeader& header = of_column_[index]->is.header;
  if (!header.has_turned_pairs(two_by_two == TwoByTwo::kColumns)) return false;
  header.turn();
  columns_[index].width = static_cast<std::uint32_t>(header.width());
  rows_.reset();  // which they are, select() tells
  if (columns_.size() == 1) rows_ = header.rows();
  return true;
}

void NpzReader::select(const std::vector<ColumnRequest>& requests) {
  const std::size_t first = index_of(requests.front().name);
  std::uint64_t row_bytes = 0;
  // Whoever looks at the arrays alone may have them.
  for (const ColumnRequest& request : requests)
    if (!sparse_ && request.use != ColumnUse::kOther && parts_.has_pointers(request.name))
      refuse_parts();
  for (const ColumnRequest& request : requests) {
    const std::size_t index = index_of(request.name);
    row_bytes += columns_[index].width * size_of(*columns_[index].dtype);
    if (rows_of(index) == rows_of(first)) continue;
    throw Error(ErrorCode::kData,
                fmt::format("column '{}' has {} rows, column '{}' has {}",
                            columns_[first].name,
                            rows_of(first),
                            columns_[index].name,
                            rows_of(index)),
                "columns that are read together have as many rows: name others",
                Place{path().string(), -1, -1, -1});
  }
  rows_ = rows_of(first);
  chunk_rows_ = array_chunk_rows(row_bytes, *rows_);
  for (const ColumnRequest& request : requests) {
    const std::size_t index = index_of(request.name);
    selected_.push_back(
        {ArrayColumn(*this, columns_[index], request, chunk_rows_, source_.ledger, "npz chunks"),
         open(index)});
  }
}

bool NpzReader::next(TableChunk& chunk) {
  if (next_row_ == *rows_) return false;
  const auto rows = static_cast<std::size_t>(std::min(chunk_rows_, *rows_ - next_row_));
  chunk.first_row = next_row_;
  chunk.rows = rows;
  chunk.columns.clear();
  for (Selected& column : selected_) {
    column.source->read(column.values.stored(rows));
    chunk.columns.push_back(column.values.values(chunk.first_row, rows));
  }
  next_row_ += rows;
  return true;
}

}  // namespace sluice
