#include "prep/table/list_parser.h"

#include "core/utf8.h"
#include "prep/table/text_cells.h"

#include <string.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>

namespace sluice {
namespace {

std::size_t index_of(char c) {
  return static_cast<unsigned char>(c);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_blank_in_list(char c) {
  return c == ' ' || c == '\t';
}

/// One behind a line end at `at`, or null where there is none.
const char* behind_line_end(const char* at) {
  if (*at == '\n') return at + 1;
  return *at == '\r' && at[1] == '\n' ? at + 2 : nullptr;
}

/// One behind the line of a comment, or null where it hides another line.
const char* behind_comment(const char* at) {
  const char* const end = static_cast<const char*>(::rawmemchr(at, '\n'));
  const auto* lone =
      static_cast<const char*>(std::memchr(at, '\r', static_cast<std::size_t>(end - at)));
  return lone == nullptr || lone + 1 == end ? end + 1 : nullptr;
}

void make_room(AlignedBuffer& buffer, std::uint64_t bytes, MemoryLedger* ledger) {
  if (buffer.size() >= bytes) return;
  buffer = {};  // first, so that the ledger never holds both
  buffer = AlignedBuffer::make(bytes, ledger, "list columns").or_throw();
}

}  // namespace

void ListColumns::reserve(const std::vector<ColumnRequest>& requests,
                          std::size_t rows,
                          std::size_t text_bytes,
                          MemoryLedger* ledger) {
  columns_.resize(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool text = requests[i].type == ColumnType::kText;
    make_room(columns_[i].values,
              text ? (rows + 1) * sizeof(std::int32_t) : rows * sizeof(std::int64_t),
              ledger);
    if (text) make_room(columns_[i].bytes, text_bytes, ledger);
  }
}

ColumnValues ListColumns::view(std::size_t column, ColumnType type, std::size_t rows) const {
  const Column& from = columns_[column];
  ColumnValues view;
  if (type == ColumnType::kInteger) {
    view.integers = {reinterpret_cast<const std::int64_t*>(from.values.data()), rows};
  } else if (type == ColumnType::kReal) {
    view.reals = {reinterpret_cast<const double*>(from.values.data()), rows};
  } else {
    view.text.offsets = {reinterpret_cast<const std::int32_t*>(from.values.data()), rows + 1};
    view.text.bytes = reinterpret_cast<const char*>(from.bytes.data());
  }
  return view;
}

// Where the values of one request go.
struct ListParser::Slot {
  ColumnType type;
  EmptyCell empty;
  std::int64_t* integers = nullptr;
  double* reals = nullptr;
  std::int32_t* offsets = nullptr;
  char* bytes = nullptr;
  const char* block_end = nullptr;
};

ListParser::ListParser(const ListLayout& layout)
    : layout_(layout), order_(layout.requests.size()), first_(layout.columns.size() + 1) {
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return layout.positions[a] < layout.positions[b];
  });
  for (const std::size_t position : layout.positions) ++first_[position + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  const bool by_blanks = layout.delimiter == '\0';
  for (const char c : {' ', '\t'}) {
    blank_[index_of(c)] = c != layout.delimiter && layout.rules == ListRules::kList;
    ends_[index_of(c)] = by_blanks;
  }
  if (!by_blanks) ends_[index_of(layout.delimiter)] = true;
  ends_[index_of('\n')] = ends_[index_of('\r')] = true;
  for (const char c : layout.comment) comment_[index_of(c)] = true;
}

std::size_t ListParser::max_rows(std::size_t lines, std::size_t bytes) const {
  // What ends a field is a byte; by white space no field is empty, so that it has one itself. A
  // line of too few fields is shorter, but is the last that is read: its values need room too.
  const std::size_t least = layout_.columns.size() * (layout_.delimiter == '\0' ? 2 : 1);
  return std::min(lines, bytes / least + 1);
}

ListParser::Parsed ListParser::parse(std::string_view block, ListColumns& columns) const {
  std::vector<Slot> slots;
  for (const std::size_t i : order_) {
    ListColumns::Column& column = columns.columns_[i];
    Slot slot{layout_.requests[i].type, layout_.requests[i].empty};
    slot.integers = reinterpret_cast<std::int64_t*>(column.values.data());
    slot.reals = reinterpret_cast<double*>(column.values.data());
    slot.offsets = reinterpret_cast<std::int32_t*>(column.values.data());
    slot.bytes = reinterpret_cast<char*>(column.bytes.data());
    slot.block_end = block.data() + block.size();
    if (slot.type == ColumnType::kText) slot.offsets[0] = 0;
    slots.push_back(slot);
  }
  // A line with a NUL is at fault, but those before it come first.
  const std::size_t nul = block.find('\0');
  const std::size_t nul_line = nul == block.npos ? block.size() : block.rfind('\n', nul) + 1;
  Parsed parsed;
  const char* const stop = block.data() + nul_line;
  for (const char* at = block.data(); at < stop;) {
    const char* const next = parse_line(at, slots, parsed.rows);
    if (next == nullptr) {
      parsed.fault = static_cast<std::size_t>(at - block.data());
      return parsed;
    }
    at = next;
  }
  if (nul != block.npos) parsed.fault = nul_line;
  return parsed;
}

// One behind the line, or null where it cannot be read.
const char* ListParser::parse_line(const char* at,
                                   std::vector<Slot>& slots,
                                   std::size_t& rows) const {
  const char* first = at;
  while (blank_[index_of(*first)]) ++first;
  if (*first == '\n' || *first == '\r') return behind_line_end(first);
  if (comment_[index_of(*first)]) return behind_comment(first);
  const char* const end = parse_row(layout_.delimiter == '\0' ? first : at, slots, rows);
  if (end == nullptr) return nullptr;
  ++rows;
  return behind_line_end(end);
}

// The line end of the row that begins at `at`, or null.
const char* ListParser::parse_row(const char* at, std::vector<Slot>& slots, std::size_t row) const {
  const std::size_t count = layout_.columns.size();
  for (std::size_t column = 0; column < count; ++column) {
    if (column != 0) {
      if (layout_.delimiter != '\0') {
        if (*at != layout_.delimiter) return nullptr;
        ++at;
      } else if (*at == '\n' || *at == '\r') {
        return nullptr;
      }
    }
    const char* end = nullptr;
    for (std::size_t i = first_[column]; i < first_[column + 1]; ++i) {
      end = parse_field(at, slots[i], row);
      if (end == nullptr) return nullptr;
    }
    at = end != nullptr ? end : field_end(at);
    if (layout_.delimiter != '\0') continue;
    while (blank_[index_of(*at)]) ++at;
  }
  return at;
}

const char* ListParser::field_end(const char* at) const {
  while (!ends_[index_of(*at)]) ++at;
  return at;
}

// The end of the field, or null where it is not what is asked.
const char* ListParser::parse_field(const char* begin, Slot& slot, std::size_t row) const {
  if (slot.type == ColumnType::kText) return parse_text(begin, slot, row);
  if (slot.type == ColumnType::kReal) {
    const auto [end, problem] = std::from_chars(begin, slot.block_end, slot.reals[row]);
    const char digit = begin[*begin == '-' ? 1 : 0];  // infinities and NaNs: slowly
    if (is_digit(digit) && problem == std::errc{} && ends_[index_of(*end)]) return end;
    return parse_number_slowly(begin, slot, row);
  }
  const bool negative = *begin == '-';
  const char* at = begin + (negative ? 1 : 0);
  const char* const digits = at;
  std::uint64_t value = 0;
  for (unsigned digit = 0; (digit = static_cast<unsigned>(*at) - '0') <= 9; ++at)
    value = value * 10 + digit;
  constexpr std::ptrdiff_t kSafeDigits = 18;
  if (at == digits || at - digits > kSafeDigits || !ends_[index_of(*at)])
    return parse_number_slowly(begin, slot, row);
  const auto magnitude = static_cast<std::int64_t>(value);
  slot.integers[row] = negative ? -magnitude : magnitude;
  return at;
}

const char* ListParser::parse_number_slowly(const char* begin, Slot& slot, std::size_t row) const {
  const char* const end = field_end(begin);
  const std::string_view text = trimmed_cell({begin, static_cast<std::size_t>(end - begin)});
  const bool integer = slot.type == ColumnType::kInteger;
  if (layout_.rules == ListRules::kStrict && end != begin) return nullptr;
  if (text.empty() && slot.empty == EmptyCell::kMissing) {
    if (integer) slot.integers[row] = -1;
    if (!integer) slot.reals[row] = std::numeric_limits<double>::quiet_NaN();
    return end;
  }
  const std::errc problem = integer ? parse_integer_cell(text, slot.integers[row])
                                    : parse_real_cell(text, slot.reals[row]);
  return problem == std::errc{} ? end : nullptr;
}

const char* ListParser::parse_text(const char* begin, Slot& slot, std::size_t row) const {
  const char* end = begin;
  unsigned char seen = 0;
  for (; !ends_[index_of(*end)]; ++end) seen |= static_cast<unsigned char>(*end);
  std::string_view text(begin, static_cast<std::size_t>(end - begin));
  if (seen >= 0x80 && !valid_utf8(text)) return nullptr;
  // Blanks around a name are none of it.
  if (!text.empty() && (is_blank_in_list(text.front()) || is_blank_in_list(text.back())))
    text = trimmed_cell(text);
  // A block of empty cells alone has no bytes, and memcpy takes no null pointer.
  if (!text.empty()) std::memcpy(slot.bytes + slot.offsets[row], text.data(), text.size());
  slot.offsets[row + 1] = slot.offsets[row] + static_cast<std::int32_t>(text.size());
  return end;
}

}  // namespace sluice
