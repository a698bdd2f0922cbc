// The texts of an ArrowColumn: checked, and laid end to end where Arrow has them otherwise.
#include "prep/table/arrow_column.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/extension_type.h>
#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace sluice {
namespace {

using arrow::Type;

template <class Array>
std::string_view text_of(const arrow::Array& array, std::int64_t row) {
  return static_cast<const Array&>(array).GetView(row);
}

std::string_view text_at(const arrow::Array& array, std::int64_t row) {
  switch (array.type_id()) {
    case Type::STRING:
      return text_of<arrow::StringArray>(array, row);
    case Type::LARGE_STRING:
      return text_of<arrow::LargeStringArray>(array, row);
    default:
      return text_of<arrow::StringViewArray>(array, row);
  }
}

template <class Array>
std::string decimal(const arrow::Array& array, std::int64_t row) {
  return fmt::to_string(+static_cast<const Array&>(array).Value(row));
}

std::string decimal_at(const arrow::Array& array, std::int64_t row) {
  switch (array.type_id()) {
    case Type::INT8:
      return decimal<arrow::Int8Array>(array, row);
    case Type::UINT8:
      return decimal<arrow::UInt8Array>(array, row);
    case Type::INT16:
      return decimal<arrow::Int16Array>(array, row);
    case Type::UINT16:
      return decimal<arrow::UInt16Array>(array, row);
    case Type::INT32:
      return decimal<arrow::Int32Array>(array, row);
    case Type::UINT32:
      return decimal<arrow::UInt32Array>(array, row);
    case Type::UINT64:
      return decimal<arrow::UInt64Array>(array, row);
    default:
      return decimal<arrow::Int64Array>(array, row);
  }
}

bool holds_nul(const char* begin, std::size_t bytes) {
  return bytes != 0 && std::memchr(begin, '\0', bytes) != nullptr;
}

}  // namespace

ColumnValues ArrowColumn::texts(const arrow::Array& array) {
  if (info_.dtype && !arrow::is_integer(array.type_id())) return texts_of_lists(array);
  if (array.type_id() == Type::DICTIONARY) check_dictionary(array);
  check_texts(array);
  ColumnValues view;
  if (array.type_id() == Type::STRING && array.null_count() == 0) {
    const auto& strings = static_cast<const arrow::StringArray&>(array);
    view.text.offsets = {strings.raw_value_offsets(), static_cast<std::size_t>(array.length()) + 1};
    const auto data = strings.value_data();
    view.text.bytes = data ? reinterpret_cast<const char*>(data->data()) : "";
  } else {
    view = build_texts(array);
  }
  const auto first = static_cast<std::size_t>(view.text.offsets.front());
  const auto last = static_cast<std::size_t>(view.text.offsets.back());
  if (holds_nul(view.text.bytes + first, last - first)) {
    std::size_t row = 0;
    while (!holds_nul(view.text[row].data(), view.text[row].size())) ++row;
    throw error(row, "the text holds a NUL byte", "texts have none");
  }
  return view;
}

// The whole numbers of a matrix, row by row.
ColumnValues ArrowColumn::texts_of_lists(const arrow::Array& array) {
  std::shared_ptr<arrow::Array> elements = elements_of(array);
  while (elements->type_id() == Type::EXTENSION)
    elements = static_cast<const arrow::ExtensionArray&>(*elements).storage();
  arrow::ArrayVector parts;
  std::size_t rows = 0;
  for (const Run& run : find_runs(array)) {
    parts.push_back(
        elements->Slice(run.element, static_cast<std::int64_t>(run.rows) * info_.width));
    rows += run.rows;
  }
  // Lists that are missing have no numbers that could be left empty.
  if (rows != static_cast<std::size_t>(array.length())) fail_missing(rows, 0);
  if (parts.empty()) parts.push_back(elements->Slice(0, 0));
  auto whole = arrow::Concatenate(parts, &pool_);
  faults_.check(whole.status());
  held_ = std::move(whole).ValueUnsafe();
  return build_texts(*held_);
}

ColumnValues ArrowColumn::build_texts(const arrow::Array& array) {
  arrow::TypedBufferBuilder<std::int32_t> offsets(&pool_);
  arrow::BufferBuilder bytes(&pool_);
  faults_.check(offsets.Reserve(array.length() + 1));
  offsets.UnsafeAppend(0);
  const auto* const dictionary = array.type_id() == Type::DICTIONARY
                                     ? static_cast<const arrow::DictionaryArray*>(&array)
                                     : nullptr;
  const bool numbers = arrow::is_integer(array.type_id());
  std::string digits;
  for (std::int64_t i = 0; i < array.length(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    std::string_view text;
    bool missing = array.IsNull(i);
    if (!missing && dictionary != nullptr) {
      const std::int64_t index = dictionary->GetValueIndex(i);
      if (index < 0 || index >= dictionary_->length())
        fail_damaged(row, fmt::format("there is no text {} in its dictionary", index));
      missing = dictionary_->IsNull(index);
      if (!missing) text = text_at(*dictionary_, index);
    } else if (!missing && numbers) {
      digits = decimal_at(array, i);
      text = digits;
    } else if (!missing) {
      text = text_at(array, i);
    }
    if (missing && request_.empty == EmptyCell::kRefuse)
      fail_missing(row / info_.width, row % info_.width);
    const auto size = static_cast<std::int64_t>(text.size());
    if (size > std::numeric_limits<std::int32_t>::max() - bytes.length())
      throw error(row / info_.width, "the texts before it are 2 GiB long", "use shorter texts");
    if (size != 0) faults_.check(bytes.Append(text.data(), size));
    offsets.UnsafeAppend(static_cast<std::int32_t>(bytes.length()));
  }
  faults_.check(offsets.Finish(&text_offsets_));
  faults_.check(bytes.Finish(&text_bytes_));
  ColumnValues view;
  view.text.offsets = {reinterpret_cast<const std::int32_t*>(text_offsets_->data()),
                       static_cast<std::size_t>(array.length()) + 1};
  view.text.bytes = reinterpret_cast<const char*>(text_bytes_->data());
  return view;
}

// Slices of a batch share theirs.
void ArrowColumn::check_dictionary(const arrow::Array& array) {
  if (dictionary_ != nullptr && dictionary_->data() == array.data()->dictionary) return;
  dictionary_ = arrow::MakeArray(array.data()->dictionary);
  faults_.check(dictionary_->ValidateFull());
}

void ArrowColumn::check_texts(const arrow::Array& array) const {
  if (array.type_id() == Type::DICTIONARY || arrow::is_integer(array.type_id())) return;
  if (array.ValidateFull().ok()) return;
  for (std::int64_t row = 0; row < array.length(); ++row) {
    const arrow::Status status = array.Slice(row, 1)->ValidateFull();
    if (status.ok()) continue;
    if (status.message().find("UTF8") == std::string::npos)
      fail_damaged(static_cast<std::size_t>(row), "the text lies outside of its column");
    throw error(static_cast<std::size_t>(row), "the text is not valid UTF-8", "write it as UTF-8");
  }
  faults_.check(array.ValidateFull());
}

}  // namespace sluice
