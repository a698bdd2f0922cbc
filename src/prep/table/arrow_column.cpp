#include "prep/table/arrow_column.h"

#include "prep/table/column_use.h"
#include "prep/table/dates.h"
#include "prep/table/stored_numbers.h"

#include <arrow/extension_type.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace sluice {
namespace {

using arrow::Type;

const arrow::DataType& storage_of(const arrow::DataType& type) {
  const arrow::DataType* plain = &type;
  while (plain->id() == Type::EXTENSION)
    plain = static_cast<const arrow::ExtensionType*>(plain)->storage_type().get();
  return *plain;
}

std::optional<DType> number_dtype(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::BOOL:
    case Type::UINT8:
      return DType::kU8;
    case Type::INT8:
      return DType::kI8;
    case Type::INT16:
    case Type::UINT16:
    case Type::INT32:
    case Type::DATE32:
    case Type::TIME32:
      return DType::kI32;
    case Type::UINT32:
      return DType::kU32;
    case Type::INT64:
    case Type::DATE64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
      return DType::kI64;
    case Type::UINT64:
      return DType::kU64;
    case Type::HALF_FLOAT:
      return DType::kF16;
    case Type::FLOAT:
      return DType::kF32;
    case Type::DOUBLE:
      return DType::kF64;
    default:
      return std::nullopt;
  }
}

/// Of what is counted since 1970; else 0.
std::int64_t ticks_of_type(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::DATE32:
      return ticks_a_day(TickUnit::kDays);
    case Type::DATE64:
      return ticks_a_day(TickUnit::kMilliseconds);
    case Type::TIMESTAMP:
      break;
    default:
      return 0;
  }
  switch (static_cast<const arrow::TimestampType&>(type).unit()) {
    case arrow::TimeUnit::SECOND:
      return ticks_a_day(TickUnit::kSeconds);
    case arrow::TimeUnit::MILLI:
      return ticks_a_day(TickUnit::kMilliseconds);
    case arrow::TimeUnit::MICRO:
      return ticks_a_day(TickUnit::kMicroseconds);
    case arrow::TimeUnit::NANO:
      return ticks_a_day(TickUnit::kNanoseconds);
  }
  return 0;
}

bool is_text(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
      return true;
    case Type::DICTIONARY: {
      const auto& values = *static_cast<const arrow::DictionaryType&>(type).value_type();
      return values.id() == Type::STRING || values.id() == Type::LARGE_STRING;
    }
    default:
      return false;
  }
}

/// What a request asks for cannot be had from this type: why, and what to do.
std::optional<std::pair<std::string, std::string>> mismatch(const arrow::DataType& type,
                                                            const ColumnInfo& info,
                                                            const ColumnRequest& request) {
  const ColumnType asked = request.type;
  const bool text = is_text(type);
  if (!text && !info.dtype) {
    return std::pair{fmt::format("is of type {}, which is no number and no text", type.ToString()),
                     std::string("store numbers, texts or lists of as many numbers in each row")};
  }
  if (info.truth && request.use == ColumnUse::kIds)
    return std::pair{std::string("holds bool, where ids are asked"), std::string(kTruthsAsIds)};
  if (asked == ColumnType::kText && !text) {
    const bool lists = type.id() == Type::FIXED_SIZE_LIST || is_open_list(type);
    const arrow::DataType& elements = lists ? storage_of(*type.field(0)->type()) : type;
    if (arrow::is_integer(elements.id())) return std::nullopt;
    return std::pair{fmt::format("holds {}, where texts are asked", type.ToString()),
                     is_fraction(*info.dtype)
                         ? std::string("store it as int64, or as text")
                         : std::string("for numbers as ids say ids = \"integer\"")};
  }
  if (asked == ColumnType::kText || !text) {
    if (asked != ColumnType::kInteger || !is_fraction(*info.dtype)) return std::nullopt;
    const bool ids = request.use == ColumnUse::kIds || request.use == ColumnUse::kOther;
    return std::pair{fmt::format("holds {}, where integers are asked", to_string(*info.dtype)),
                     ids ? std::string("store it as int64") : hint_for_fraction(request.use, true)};
  }
  return std::pair{
      fmt::format("holds texts, where {} are asked",
                  asked == ColumnType::kInteger ? "integers" : "numbers"),
      request.use == ColumnUse::kOther ? std::string("store numbers") : hint_for_text(request.use)};
}

}  // namespace

bool is_open_list(const arrow::DataType& type) {
  const arrow::DataType& plain = storage_of(type);
  return plain.id() == Type::LIST || plain.id() == Type::LARGE_LIST;
}

ColumnInfo arrow_column_info(const arrow::Field& field) {
  const arrow::DataType& type = storage_of(*field.type());
  ColumnInfo info{field.name(), number_dtype(type), 1};
  info.truth = type.id() == Type::BOOL;
  info.words = is_text(type);
  info.ticks_a_day = ticks_of_type(type);
  if (type.id() == Type::FIXED_SIZE_LIST || is_open_list(type)) {
    const arrow::DataType& elements = storage_of(*type.field(0)->type());
    info.dtype = number_dtype(elements);
    info.truth = elements.id() == Type::BOOL;
    info.width = 0;
    if (!info.dtype) info.width = 1;
    if (info.dtype && type.id() == Type::FIXED_SIZE_LIST) {
      const auto& lists = static_cast<const arrow::FixedSizeListType&>(type);
      info.width = static_cast<std::uint32_t>(std::max(lists.list_size(), 0));
    }
  }
  return info;
}

std::optional<std::uint32_t> list_width(const arrow::Array& array) {
  if (array.type_id() == Type::EXTENSION)
    return list_width(*static_cast<const arrow::ExtensionArray&>(array).storage());
  for (std::int64_t row = 0; row < array.length(); ++row) {
    if (array.IsNull(row)) continue;
    const std::int64_t width =
        array.type_id() == Type::LIST
            ? static_cast<const arrow::ListArray&>(array).value_length(row)
            : static_cast<const arrow::LargeListArray&>(array).value_length(row);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(width, 0, 0xffffffff));
  }
  return std::nullopt;
}

ArrowColumn::ArrowColumn(const TableReader& table,
                         const arrow::DataType& type,
                         ColumnInfo info,
                         ColumnRequest request,
                         LedgerMemoryPool& pool,
                         const ArrowFaults& faults)
    : table_(table),
      info_(std::move(info)),
      request_(std::move(request)),
      pool_(pool),
      faults_(faults) {
  if (const auto fault = mismatch(storage_of(type), info_, request_))
    faults_.fail(fmt::format("column '{}' {}", info_.name, fault->first), fault->second);
}

ColumnValues ArrowColumn::convert(std::shared_ptr<arrow::Array> array, std::uint64_t first_row) {
  first_row_ = first_row;
  while (array->type_id() == Type::EXTENSION)
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  faults_.check(array->Validate());
  held_ = std::move(array);
  return request_.type == ColumnType::kText ? texts(*held_) : numbers(*held_);
}

template <class List>
std::vector<ArrowColumn::Run> ArrowColumn::list_runs(const List& lists) const {
  std::vector<Run> runs;
  const std::int64_t width = info_.width, end = lists.values()->length();
  for (std::int64_t i = 0; i < lists.length(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    if (lists.IsNull(i)) {
      if (request_.empty == EmptyCell::kRefuse) fail_missing(row, 0);
      continue;
    }
    const std::int64_t begin = lists.value_offset(i), length = lists.value_length(i);
    if (begin < 0 || length < 0 || begin > end || length > end - begin)
      fail_damaged(row, "the list lies outside of its values");
    if (length != width) {
      throw error(row,
                  fmt::format("a list of {}, where the first is of {}", length, width),
                  "a matrix has as many numbers in each row: pad the lists, or cut them");
    }
    const bool extends =
        !runs.empty() && runs.back().row + runs.back().rows == row &&
        runs.back().element + static_cast<std::int64_t>(runs.back().rows) * width == begin;
    if (extends) {
      ++runs.back().rows;
    } else {
      runs.push_back({row, 1, begin});
    }
  }
  return runs;
}

std::vector<ArrowColumn::Run> ArrowColumn::find_runs(const arrow::Array& array) const {
  switch (array.type_id()) {
    case Type::LIST:
      return list_runs(static_cast<const arrow::ListArray&>(array));
    case Type::LARGE_LIST:
      return list_runs(static_cast<const arrow::LargeListArray&>(array));
    case Type::FIXED_SIZE_LIST:
      return list_runs(static_cast<const arrow::FixedSizeListArray&>(array));
    default:
      return {{0, static_cast<std::size_t>(array.length()), 0}};
  }
}

std::shared_ptr<arrow::Array> ArrowColumn::elements_of(const arrow::Array& array) {
  switch (array.type_id()) {
    case Type::LIST:
      return static_cast<const arrow::ListArray&>(array).values();
    case Type::LARGE_LIST:
      return static_cast<const arrow::LargeListArray&>(array).values();
    case Type::FIXED_SIZE_LIST:
      return static_cast<const arrow::FixedSizeListArray&>(array).values();
    default:
      return array.Slice(0);
  }
}

namespace {

/// Whether the elements lie one behind the other as their dtype says.
bool is_packed(Type::type id) {
  return id != Type::BOOL && id != Type::INT16 && id != Type::UINT16;
}

}  // namespace

ColumnValues ArrowColumn::numbers(const arrow::Array& array) {
  const std::vector<Run> runs = find_runs(array);
  std::shared_ptr<arrow::Array> elements = elements_of(array);
  while (elements->type_id() == Type::EXTENSION)
    elements = static_cast<const arrow::ExtensionArray&>(*elements).storage();
  const auto rows = static_cast<std::size_t>(array.length());
  const std::size_t row_bytes = info_.width * element_bytes();
  const bool whole = runs.size() == 1 && runs[0].rows == rows;
  const bool as_stored = is_packed(elements->type_id()) &&
                         (request_.type == ColumnType::kRaw ||
                          (request_.type == ColumnType::kInteger && info_.dtype == DType::kI64) ||
                          (request_.type == ColumnType::kReal && info_.dtype == DType::kF64));
  if (whole && as_stored && elements->null_count() == 0) {
    const auto count = static_cast<std::int64_t>(rows * info_.width);
    return view_of({stored(*elements, runs[0].element, count), rows * row_bytes});
  }
  const std::span<std::byte> out = room(values_, rows * row_bytes);
  if (!whole) fill_missing(out, 0, rows * info_.width);
  for (const Run& run : runs)
    convert_run(*elements, run, out.subspan(run.row * row_bytes, run.rows * row_bytes));
  return view_of(out);
}

/// The elements packed as the dtype says: where they are, or widened into a buffer.
const std::byte* ArrowColumn::stored(const arrow::Array& elements,
                                     std::int64_t begin,
                                     std::int64_t count) {
  if (count == 0) return nullptr;
  const auto size = static_cast<std::size_t>(count);
  const std::uint8_t* const data = elements.data()->buffers[1]->data();
  const std::int64_t first = elements.offset() + begin;
  if (is_packed(elements.type_id())) {
    return reinterpret_cast<const std::byte*>(data) +
           static_cast<std::size_t>(first) * size_of(*info_.dtype);
  }
  const std::span<std::byte> widened = room(widened_, size * size_of(*info_.dtype));
  if (elements.type_id() == Type::BOOL) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::int64_t bit = first + static_cast<std::int64_t>(i);
      widened[i] = static_cast<std::byte>(data[bit / 8] >> (bit % 8) & 1);
    }
    return widened.data();
  }
  auto* const out = reinterpret_cast<std::int32_t*>(widened.data());
  if (elements.type_id() == Type::INT16) {
    std::copy_n(reinterpret_cast<const std::int16_t*>(data) + first, size, out);
  } else {
    std::copy_n(reinterpret_cast<const std::uint16_t*>(data) + first, size, out);
  }
  return widened.data();
}

void ArrowColumn::check_range(const arrow::Array& elements,
                              const Run& run,
                              const std::byte* values) const {
  const std::size_t count = run.rows * info_.width;
  const std::span stored(reinterpret_cast<const std::uint64_t*>(values), count);
  for (std::size_t i = first_beyond_int64(stored); i < count;
       i = first_beyond_int64(stored, i + 1)) {
    if (elements.IsNull(run.element + static_cast<std::int64_t>(i))) continue;
    throw error(run.row + i / info_.width,
                fmt::format("{} is beyond a signed 64-bit integer", stored[i]),
                hint_beyond_integers(request_.use));
  }
}

void ArrowColumn::convert_run(const arrow::Array& elements,
                              const Run& run,
                              std::span<std::byte> out) {
  const std::size_t count = run.rows * info_.width;
  const std::byte* const values = stored(elements, run.element, static_cast<std::int64_t>(count));
  if (request_.type == ColumnType::kInteger) {
    if (info_.dtype == DType::kU64) check_range(elements, run, values);
    widen_to_integers(*info_.dtype, values, {reinterpret_cast<std::int64_t*>(out.data()), count});
  } else if (request_.type == ColumnType::kReal) {
    widen_to_reals(*info_.dtype, values, {reinterpret_cast<double*>(out.data()), count});
  } else if (count != 0) {
    std::memcpy(out.data(), values, out.size());
  }
  if (elements.null_count() == 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (!elements.IsNull(run.element + static_cast<std::int64_t>(i))) continue;
    if (request_.empty == EmptyCell::kRefuse)
      fail_missing(run.row + i / info_.width, i % info_.width);
    fill_missing(out, i, 1);
  }
}

/// -1 or NaN. Stored bytes of integers have no place for either.
void ArrowColumn::fill_missing(std::span<std::byte> out,
                               std::size_t first,
                               std::size_t count) const {
  constexpr std::uint16_t kHalfNaN = 0x7e00;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr double kWideNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr std::int64_t kNone = -1;
  const auto fill = [&](const auto& missing) {
    for (std::size_t i = first; i < first + count; ++i)
      std::memcpy(out.data() + i * sizeof missing, &missing, sizeof missing);
  };
  if (request_.type == ColumnType::kInteger) return fill(kNone);
  if (request_.type == ColumnType::kReal || info_.dtype == DType::kF64) return fill(kWideNaN);
  if (info_.dtype == DType::kF32) return fill(kNaN);
  if (info_.dtype == DType::kF16) return fill(kHalfNaN);
  throw Error(ErrorCode::kData,
              fmt::format("column '{}' has missing values, which {} has no place for",
                          info_.name,
                          to_string(*info_.dtype)),
              "store it as float32, or fill them",
              Place{table_.path().string(), -1, -1, -1});
}

ColumnValues ArrowColumn::view_of(std::span<const std::byte> values) const {
  ColumnValues view;
  const std::size_t count = values.size() / element_bytes();
  if (request_.type == ColumnType::kInteger) {
    view.integers = {reinterpret_cast<const std::int64_t*>(values.data()), count};
  } else if (request_.type == ColumnType::kReal) {
    view.reals = {reinterpret_cast<const double*>(values.data()), count};
  } else {
    view.raw = values;
  }
  return view;
}

std::size_t ArrowColumn::element_bytes() const {
  return request_.type == ColumnType::kRaw ? size_of(*info_.dtype) : sizeof(std::int64_t);
}

std::span<std::byte> ArrowColumn::room(std::shared_ptr<arrow::ResizableBuffer>& buffer,
                                       std::size_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  if (buffer == nullptr) {
    auto made = arrow::AllocateResizableBuffer(size, &pool_);
    faults_.check(made.status());
    buffer = std::move(made).ValueUnsafe();
  } else {
    faults_.check(buffer->Resize(size, false));
  }
  return {reinterpret_cast<std::byte*>(buffer->mutable_data()), bytes};
}

Error ArrowColumn::error(std::size_t row,
                         const std::string& reason,
                         const std::string& hint) const {
  return table_.value_error(first_row_ + row, info_.name, reason, hint);
}

void ArrowColumn::fail_missing(std::size_t row, std::size_t element) const {
  const std::string where = info_.width > 1 ? fmt::format("element {}: ", element) : "";
  throw error(row, where + "the value is missing", hint_for_missing(request_.use));
}

void ArrowColumn::fail_damaged(std::size_t row, const std::string& reason) const {
  throw error(row, reason, "the file is damaged: write it again");
}

}  // namespace sluice
