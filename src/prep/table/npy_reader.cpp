#include "prep/table/npy_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace sluice {
namespace {

constexpr std::uint64_t kChunkBytes = 4 * kMiB;

NpyHeader read_header(const File& file) {
  const std::uint64_t file_bytes = file.size().or_throw();
  std::vector<std::byte> front(std::min<std::uint64_t>(file_bytes, kNpyMaxHeaderBytes));
  file.read_at(0, front).or_throw();
  return parse_npy_header(front, file_bytes, file.path().string()).or_throw();
}

bool is_real(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64 ||
         dtype == DType::kBF16;
}

/// IEEE half precision to double, exactly.
double widen_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const double fraction = bits & 0x3ff;
  double value = 0;
  if (exponent == 0x1f) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else {
    value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace

NpyReader::NpyReader(Options /*options*/, const TableSource& source)
    : TableReader(source),
      file_(File::open_read(source.path).or_throw()),
      header_(read_header(file_)) {
  columns_.push_back({"values", header_.dtype, static_cast<std::uint32_t>(header_.width())});
  row_bytes_ = header_.width() * size_of(header_.dtype);
  chunk_rows_ = std::clamp<std::uint64_t>(kChunkBytes / std::max<std::uint64_t>(row_bytes_, 1),
                                          1,
                                          std::max<std::uint64_t>(header_.rows(), 1));
}

void NpyReader::select(const std::vector<ColumnRequest>& requests) {
  type_ = requests.at(0).type;
  const auto refuse = [&](const char* asked, const char* hint) {
    throw Error(ErrorCode::kData,
                fmt::format("holds {}, where {} are asked", to_string(header_.dtype), asked),
                hint,
                Place{path().string(), -1, -1, -1});
  };
  if (type_ == ColumnType::kText)
    refuse("texts", "string ids come from CSV files; for numbers say ids = \"integer\"");
  if (type_ == ColumnType::kInteger && is_real(header_.dtype))
    refuse("integers", "save a.astype('int64')");
  const std::uint64_t elements = chunk_rows_ * header_.width();
  const auto buffer = [&](std::uint64_t bytes) {
    return AlignedBuffer::make(std::max<std::uint64_t>(bytes, 1), source_.ledger, "npy chunks")
        .or_throw();
  };
  stored_ = buffer(chunk_rows_ * row_bytes_);
  if (header_.fortran_order && header_.width() > 1) turned_ = buffer(chunk_rows_ * row_bytes_);
  if (type_ != ColumnType::kRaw) converted_ = buffer(elements * sizeof(double));
}

void NpyReader::read_rows(std::uint64_t first, std::size_t rows) {
  const std::size_t element = size_of(header_.dtype);
  const std::uint64_t width = header_.width();
  if (!header_.fortran_order || width <= 1) {
    file_
        .read_at(header_.data_offset + first * row_bytes_, stored_.bytes().first(rows * row_bytes_))
        .or_throw();
    return;
  }
  for (std::uint64_t column = 0; column < width; ++column) {
    const std::uint64_t offset = header_.data_offset + (column * header_.rows() + first) * element;
    file_.read_at(offset, turned_.bytes().subspan(column * rows * element, rows * element))
        .or_throw();
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < width; ++column) {
      std::memcpy(stored_.data() + (row * width + column) * element,
                  turned_.data() + (column * rows + row) * element,
                  element);
    }
  }
}

void NpyReader::check_range(std::uint64_t first, std::span<const std::uint64_t> values) const {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto beyond =
      std::find_if(values.begin(), values.end(), [](std::uint64_t value) { return value > kMost; });
  if (beyond == values.end()) return;
  const auto row = first + static_cast<std::uint64_t>(beyond - values.begin()) / header_.width();
  throw value_error(row,
                    "values",
                    fmt::format("{} is beyond a signed 64-bit integer", *beyond),
                    "use smaller numbers");
}

template <class Stored>
ColumnValues NpyReader::values_as(std::size_t count) {
  const std::span stored(reinterpret_cast<const Stored*>(stored_.data()), count);
  ColumnValues view;
  if (type_ == ColumnType::kInteger) {
    const std::span integers(reinterpret_cast<std::int64_t*>(converted_.data()), count);
    std::transform(stored.begin(), stored.end(), integers.begin(), [](Stored value) {
      return static_cast<std::int64_t>(value);
    });
    view.integers = integers;
  } else {
    const std::span reals(reinterpret_cast<double*>(converted_.data()), count);
    std::transform(stored.begin(), stored.end(), reals.begin(), [](Stored value) {
      if constexpr (std::is_same_v<Stored, std::uint16_t>) return widen_half(value);
      return static_cast<double>(value);
    });
    view.reals = reals;
  }
  return view;
}

bool NpyReader::next(TableChunk& chunk) {
  if (next_row_ == header_.rows()) return false;
  const auto rows = static_cast<std::size_t>(std::min(chunk_rows_, header_.rows() - next_row_));
  read_rows(next_row_, rows);
  chunk.first_row = next_row_;
  chunk.rows = rows;
  next_row_ += rows;
  const std::size_t count = rows * header_.width();
  ColumnValues view;
  if (type_ == ColumnType::kRaw) {
    view.raw = stored_.bytes().first(rows * row_bytes_);
  } else {
    switch (header_.dtype) {
      case DType::kF16:
        view = values_as<std::uint16_t>(count);
        break;
      case DType::kF32:
        view = values_as<float>(count);
        break;
      case DType::kF64:
        view = values_as<double>(count);
        break;
      case DType::kI8:
        view = values_as<std::int8_t>(count);
        break;
      case DType::kU8:
        view = values_as<std::uint8_t>(count);
        break;
      case DType::kI32:
        view = values_as<std::int32_t>(count);
        break;
      case DType::kI64:
        view = values_as<std::int64_t>(count);
        break;
      case DType::kU32:
        view = values_as<std::uint32_t>(count);
        break;
      case DType::kU64:
        if (type_ == ColumnType::kInteger) {
          check_range(chunk.first_row,
                      {reinterpret_cast<const std::uint64_t*>(stored_.data()), count});
        }
        view = values_as<std::uint64_t>(count);
        break;
      case DType::kBF16:
        break;  // no NumPy dtype
    }
  }
  chunk.columns.assign(1, view);
  return true;
}

}  // namespace sluice
