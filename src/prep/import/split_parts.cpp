#include "prep/import/split_parts.h"

#include "core/interrupt.h"
#include "prep/table/column_use.h"
#include "prep/table/text_cells.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace sluice {
namespace {

/// The cells of one column, each as a bit where it is one: 0, 1, true or false.
class MaskCells {
 public:
  /// @param blank of a mask a line that is blank may be a missing row; of ids it is nothing
  MaskCells(ImportContext& context,
            const SplitSpec& split,
            const std::string& file,
            BlankLine blank)
      : table_(context.open(file, split.format)) {
    const ColumnInfo& column = find_id_column(*table_, split.column);
    truth_ = column.truth;
    const ColumnType type = column.dtype ? ColumnType::kReal : ColumnType::kText;
    const EmptyCell empty = truth_ ? EmptyCell::kRefuse : EmptyCell::kMissing;
    table_->select({{column.name, type, empty, ColumnUse::kOther, blank}});
  }

  /// Whether the file stores truth values.
  bool truth() const { return truth_; }
  bool next() {
    throw_if_interrupted();
    return table_->next(chunk_);
  }
  std::size_t rows() const { return chunk_.rows; }
  bool is_word(std::size_t row) const {
    return chunk_.columns[0].reals.empty() && is_truth_word(chunk_.columns[0].text[row]);
  }
  std::optional<bool> bit(std::size_t row) const {
    if (!chunk_.columns[0].reals.empty()) {
      const double value = chunk_.columns[0].reals[row];
      return value == 0 || value == 1 ? std::optional(value == 1) : std::nullopt;
    }
    const std::string_view cell = trimmed_cell(chunk_.columns[0].text[row]);
    if (is_truth_word(cell)) return cell.front() == 't' || cell.front() == 'T';
    return cell == "0" || cell == "1" ? std::optional(cell == "1") : std::nullopt;
  }

 private:
  std::unique_ptr<TableReader> table_;
  TableChunk chunk_;
  bool truth_ = false;
};

/// What a column is like, as far as it holds nothing but bits.
struct MaskGlance {
  bool bits = true;     ///< it does, to its end
  bool truths = false;  ///< they are written as truth values
  std::uint64_t rows = 0, ones = 0;
};

MaskGlance glance_at_mask(ImportContext& context, const SplitSpec& split, const std::string& file) {
  MaskCells cells(context, split, file, BlankLine::kPass);
  MaskGlance glance;
  glance.truths = cells.truth();
  while (cells.next()) {
    for (std::size_t row = 0; row < cells.rows(); ++row) {
      const auto bit = cells.bit(row);
      if (!bit) return {false};
      glance.truths = glance.truths || cells.is_word(row);
      glance.ones += *bit ? 1u : 0u;
    }
    glance.rows += cells.rows();
  }
  return glance;
}

/// Whether 0 and 1 may be ids, each once.
bool may_be_ids(const MaskGlance& glance, const NodeIds& ids) {
  const bool from_one = ids.kind() == IdKind::kDense && ids.first_id() == 1;
  if (glance.rows == 1) return glance.ones == 0 ? !from_one : from_one || *ids.count() > 1;
  return glance.rows == 2 && glance.ones == 1 && !from_one;
}

}  // namespace

bool is_mask(ImportContext& context,
             const SplitSpec& split,
             const std::string& file,
             const SplitRows& rows) {
  const MaskGlance glance = glance_at_mask(context, split, file);
  if (!glance.bits || glance.rows == 0) return false;
  const std::uint64_t count = *rows.ids.count();
  const std::string what = glance.truths ? "is a mask" : "holds 0 and 1 alone, as a mask does";
  if (!glance.truths && may_be_ids(glance, rows.ids)) {
    if (glance.rows == count && count > 1)
      context.prep.log.warn(
          "{}: 0 and 1 are taken as ids here; for a mask of the {} store bool", file, rows.what);
    return false;
  }
  const auto refuse = [&](const std::string& message, const std::string& hint) {
    throw Error(ErrorCode::kData, message, hint, Place{(context.root / file).string(), -1, -1, -1});
  };
  const std::string ids = "give ids: numpy.flatnonzero(mask) has them";
  if (glance.rows != count)
    refuse(fmt::format("{}, of {} rows, but there are {} {}",
                       what,
                       format_count(glance.rows),
                       format_count(count),
                       rows.what),
           fmt::format(
               "a mask has one row for each of the {}, in their order; or {}", rows.what, ids));
  if (!rows.ordered)
    refuse(fmt::format("{}, and nothing tells the order of the {}", what, rows.what),
           "name the list of their ids: id_list = { file = ... }; or " + ids);
  if (!glance.truths)
    context.prep.log.warn(
        "{}: 0 and 1 alone, one for each of the {}: taken as a mask, {} are in it",
        file,
        rows.what,
        format_count(glance.ones));
  return true;
}

std::vector<std::uint64_t> read_mask(ImportContext& context,
                                     const SplitSpec& split,
                                     const std::string& file,
                                     Charge& charge) {
  MaskCells cells(context, split, file, BlankLine::kRefuse);
  std::vector<std::uint64_t> nodes;
  for (std::uint64_t first = 0; cells.next(); first += cells.rows()) {
    charge.resize(charge.bytes() + cells.rows() * sizeof(std::uint64_t)).or_throw();
    for (std::size_t row = 0; row < cells.rows(); ++row)
      if (cells.bit(row).value_or(false)) nodes.push_back(first + row);
  }
  return nodes;
}

std::vector<std::uint64_t> read_ids(ImportContext& context,
                                    const SplitSpec& split,
                                    const std::string& file,
                                    const SplitRows& rows,
                                    std::uint64_t& skipped,
                                    Charge& charge) {
  const auto table = context.open(file, split.format);
  const std::string column = find_id_column(*table, split.column).name;
  // A list of ids is the same in any order.
  table->select({{column,
                  rows.ids.column_type(),
                  EmptyCell::kRefuse,
                  ColumnUse::kIds,
                  BlankLine::kPass}});
  std::vector<std::uint64_t> nodes, found;
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    rows.ids.find(
        id_values(chunk, 0), {*table, chunk.first_row, column}, found, context.prep.arena);
    skipped += std::erase(found, kNoNode);
    charge.resize(charge.bytes() + found.size() * sizeof(std::uint64_t)).or_throw();
    nodes.insert(nodes.end(), found.begin(), found.end());
  }
  return nodes;
}

}  // namespace sluice
