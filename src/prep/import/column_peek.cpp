#include "prep/import/column_peek.h"

#include "core/interrupt.h"
#include "prep/table/text_cells.h"

#include <unordered_set>

namespace sluice {
namespace {

bool is_fraction_dtype(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64 ||
         dtype == DType::kBF16;
}

/// Takes in the values of a column, one after the other.
class Peeker {
 public:
  void text(std::string_view cell) {
    const std::string_view value = trimmed_cell(cell);
    std::int64_t integer = 0;
    double real = 0;
    const bool whole = parse_integer_cell(value, integer) == std::errc{};
    peek_.numbers = peek_.numbers && (whole || parse_real_cell(value, real) == std::errc{});
    if (whole) return number(integer);
    peek_.whole = peek_.counts_up = false;
    different(texts_.emplace(value).second);
  }

  void number(std::int64_t value) {
    if (peek_.rows == 0) peek_.first = value;
    peek_.counts_up = peek_.counts_up && (peek_.rows == 0 || value == last_ + 1);
    last_ = value;
    // Beyond what is kept nothing is said of repeats: long columns are looked at for their order.
    different(peek_.rows >= kKept || numbers_.insert(value).second);
  }

  void different(bool is_new) {
    peek_.different = peek_.different && is_new;
    ++peek_.rows;
  }
  const ColumnPeek& peek() const { return peek_; }

 private:
  static constexpr std::uint64_t kKept = 1 << 16;

  ColumnPeek peek_;
  std::int64_t last_ = 0;
  std::unordered_set<std::string> texts_;
  std::unordered_set<std::int64_t> numbers_;
};

}  // namespace

ColumnPeek peek_at(TableReader& table, const std::string& column, std::uint64_t rows) {
  const ColumnInfo& info = table.column(column, 0);
  if (info.width != 1 || (info.dtype && is_fraction_dtype(*info.dtype)))
    return {0, false, false, info.dtype.has_value(), false, 0};
  const bool text = !info.dtype;
  table.select({{column, text ? ColumnType::kText : ColumnType::kInteger, EmptyCell::kMissing}});
  Peeker peeker;
  for (TableChunk chunk; peeker.peek().rows < rows && table.next(chunk);) {
    throw_if_interrupted();
    for (std::size_t row = 0; row < chunk.rows && peeker.peek().rows < rows; ++row) {
      if (text) {
        peeker.text(chunk.columns[0].text[row]);
      } else {
        peeker.number(chunk.columns[0].integers[row]);
      }
    }
  }
  return peeker.peek();
}

}  // namespace sluice
