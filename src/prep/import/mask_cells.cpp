#include "prep/import/mask_cells.h"

#include "core/interrupt.h"
#include "prep/table/column_use.h"
#include "prep/table/text_cells.h"

namespace sluice {

MaskCells::MaskCells(const ImportContext& context,
                     const SplitPart& part,
                     BlankLine blank,
                     const std::vector<ColumnRequest>& beside)
    : table_(context.open(part.file, part.format)) {
  const ColumnInfo& info = find_id_column(*table_, part.column);
  column_ = info.name;
  truth_ = info.truth;
  const ColumnType type = info.dtype ? ColumnType::kReal : ColumnType::kText;
  const EmptyCell empty = truth_ ? EmptyCell::kRefuse : EmptyCell::kMissing;
  std::vector<ColumnRequest> requests{{column_, type, empty, ColumnUse::kOther, blank}};
  for (const ColumnRequest& other : beside) {
    (void)find_id_column(*table_, other.name);  // that there is one
    requests.push_back(other);
  }
  table_->select(requests);
}

bool MaskCells::next() {
  throw_if_interrupted();
  return table_->next(chunk_);
}

bool MaskCells::is_word(std::size_t row) const {
  return chunk_.columns[0].reals.empty() && is_truth_word(chunk_.columns[0].text[row]);
}

std::optional<bool> MaskCells::bit(std::size_t row) const {
  if (!chunk_.columns[0].reals.empty()) {
    const double value = chunk_.columns[0].reals[row];
    return value == 0 || value == 1 ? std::optional(value == 1) : std::nullopt;
  }
  const std::string_view cell = trimmed_cell(chunk_.columns[0].text[row]);
  if (is_truth_word(cell)) return cell.front() == 't' || cell.front() == 'T';
  return cell == "0" || cell == "1" ? std::optional(cell == "1") : std::nullopt;
}

MaskGlance glance_at_mask(const ImportContext& context, const SplitPart& part) {
  MaskCells cells(context, part, BlankLine::kPass);
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
  glance.bits = glance.rows != 0;
  return glance;
}

}  // namespace sluice
