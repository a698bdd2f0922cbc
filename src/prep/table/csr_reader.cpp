#include "prep/table/csr_reader.h"

#include "core/interrupt.h"
#include "prep/table/add_stored.h"
#include "prep/table/stored_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <system_error>

namespace sluice {
namespace {

constexpr std::string_view kCsrPointers = "indptr.npy";
constexpr std::uint64_t kMostCsrRows = 65536;  // of a chunk: pointers read at a time
constexpr std::uint64_t kCsrBlock = 65536;     // entries read at a time
constexpr const char* kCsrFiles =
    "a matrix has NAME_indptr.npy, NAME_indices.npy, NAME_values.npy or NAME_data.npy, and "
    "NAME_shape.npy";

}  // namespace

CsrReader::CsrReader(Options /*options*/, const TableSource& source) : TableReader(source) {
  const std::string name = source.path.filename().string();
  if (!name.ends_with(kCsrPointers))
    throw Error(ErrorCode::kUsage,
                "a matrix of format csr is named by its pointers, a file NAME_indptr.npy",
                kCsrFiles,
                Place{source.path.string(), -1, -1, -1});
  stem_ = name.substr(0, name.size() - kCsrPointers.size());
  pointers_ = open_part(source.path);
  indices_ = open_part(beside("indices"));
  std::error_code problem;
  const auto values = beside("values");
  values_ = open_part(std::filesystem::exists(values, problem) ? values : beside("data"));
  const Part shape = open_part(beside("shape"));
  if (is_fraction(shape.header.dtype) || shape.header.shape != std::vector<std::uint64_t>{2})
    fail(shape, "is no array of 2 integers");
  std::array<std::int64_t, 2> sides{};
  shape.read_integers(0, stored_, sides);
  constexpr std::int64_t kWidest = std::numeric_limits<std::uint32_t>::max();
  if (sides[0] < 0 || sides[1] < 0 || sides[1] > kWidest)
    fail(shape, fmt::format("says a matrix of shape ({}, {})", sides[0], sides[1]));
  rows_ = static_cast<std::uint64_t>(sides[0]);
  width_ = static_cast<std::uint64_t>(sides[1]);
  check_parts();
  columns_.push_back(
      {"matrix", values_.header.dtype, static_cast<std::uint32_t>(width_), values_.header.truth()});
}

std::filesystem::path CsrReader::beside(const std::string& part) const {
  return path().parent_path() / (stem_ + part + ".npy");
}

CsrReader::Part CsrReader::open_part(const std::filesystem::path& file) const {
  std::error_code problem;
  if (!std::filesystem::exists(file, problem))
    throw Error(ErrorCode::kData,
                fmt::format("there is no '{}' beside it", file.filename().string()),
                kCsrFiles,
                Place{path().string(), -1, -1, -1});
  Part part;
  part.file = File::open_read(file).or_throw();
  const std::uint64_t file_bytes = part.file.size().or_throw();
  std::vector<std::byte> front(std::min<std::uint64_t>(file_bytes, kNpyMaxHeaderBytes));
  part.file.read_at(0, front).or_throw();
  part.header = parse_npy_header(front, file_bytes, file.string()).or_throw();
  return part;
}

void CsrReader::fail(const Part& part, const std::string& message) const {
  throw Error(ErrorCode::kData,
              message,
              "save the matrix's parts again: scipy.sparse.csr_matrix has indptr, indices, data "
              "and shape",
              Place{part.file.path().string(), -1, -1, -1});
}

void CsrReader::check_parts() const {
  const std::uint64_t entries = values_.header.rows();
  const auto check = [&](const Part& part, std::uint64_t length, bool integers) {
    const NpyHeader& header = part.header;
    if (header.shape.size() != 1 || (integers && is_fraction(header.dtype)))
      fail(part, integers ? "is no list of integers" : "is no list of numbers");
    if (header.rows() != length)
      fail(part, fmt::format("has {} elements, the matrix asks for {}", header.rows(), length));
  };
  check(values_, entries, false);
  check(indices_, entries, true);
  check(pointers_, rows_ + 1, true);
}

void CsrReader::Part::read(std::uint64_t first, std::span<std::byte> stored) const {
  file.read_at(header.data_offset + first * size_of(header.dtype), stored).or_throw();
}

void CsrReader::Part::read_integers(std::uint64_t first,
                                    std::vector<std::byte>& room,
                                    std::span<std::int64_t> out) const {
  room.resize(out.size() * size_of(header.dtype));
  read(first, room);
  widen_to_integers(header.dtype, room.data(), out);
}

bool CsrReader::turn_sparse(const std::vector<std::string>& columns, SparseEntries /*entries*/) {
  if (columns.empty()) return true;
  throw Error(ErrorCode::kData,
              "is a sparse matrix, which is taken by its rows: its columns have no names",
              "leave columns out, or save the parts of some of them: m[:, :10]",
              Place{path().string(), -1, -1, -1});
}

void CsrReader::select(const std::vector<ColumnRequest>& requests) {
  chunk_rows_ =
      std::min(array_chunk_rows(width_ * size_of(values_.header.dtype), rows_), kMostCsrRows);
  column_.emplace(
      *this, columns_[0], only_request(*this, requests), chunk_rows_, source_.ledger, "csr chunks");
}

bool CsrReader::next(TableChunk& chunk) {
  if (next_row_ == rows_) return false;
  const auto rows = static_cast<std::size_t>(std::min(chunk_rows_, rows_ - next_row_));
  read_pointers(rows);
  read_rows(rows);
  chunk.first_row = next_row_;
  chunk.rows = rows;
  next_row_ += rows;
  chunk.columns.assign(1, column_->values(chunk.first_row, rows));
  return true;
}

void CsrReader::read_pointers(std::size_t rows) {
  row_ends_.resize(rows + 1);
  pointers_.read_integers(next_row_, stored_, row_ends_);
  const auto entries = static_cast<std::int64_t>(values_.header.rows());
  if (next_row_ == 0 && row_ends_.front() != 0) fail(pointers_, "does not begin at 0");
  if (row_ends_.front() < 0 || !std::is_sorted(row_ends_.begin(), row_ends_.end()))
    fail(pointers_, "is not ascending");
  const bool last = next_row_ + rows == rows_;
  if (row_ends_.back() > entries || (last && row_ends_.back() != entries))
    fail(pointers_, fmt::format("does not end at the {} entries", entries));
}

void CsrReader::read_rows(std::size_t rows) {
  const std::span<std::byte> out = column_->stored(rows);
  std::fill(out.begin(), out.end(), std::byte{0});
  std::size_t row = 0;
  const auto end = static_cast<std::uint64_t>(row_ends_.back());
  for (auto first = static_cast<std::uint64_t>(row_ends_.front()); first < end;) {
    throw_if_interrupted();
    const auto count = static_cast<std::size_t>(std::min(kCsrBlock, end - first));
    add_entries(first, count, row);
    first += count;
  }
}

// @param row of the chunk that the last entry belonged to; moves on
void CsrReader::add_entries(std::uint64_t first, std::size_t count, std::size_t& row) {
  places_.resize(count);
  indices_.read_integers(first, stored_, places_);
  const DType dtype = values_.header.dtype;
  const std::size_t element = size_of(dtype);
  data_.resize(count * element);
  values_.read(first, data_);
  std::byte* const out = column_->stored(row_ends_.size() - 1).data();
  for (std::size_t i = 0; i < count; ++i) {
    while (static_cast<std::uint64_t>(row_ends_[row + 1]) <= first + i) ++row;
    const auto place = static_cast<std::uint64_t>(places_[i]);  // a negative one is too large
    if (place >= width_)
      fail(indices_,
           fmt::format("entry {}: {} is not below the {} columns of the matrix",
                       first + i,
                       places_[i],
                       width_));
    std::byte* const to = out + (row * width_ + place) * element;
    if (values_.header.truth()) {
      *to |= data_[i * element];
    } else {
      add_stored(dtype, data_.data() + i * element, to);
    }
  }
}

}  // namespace sluice
