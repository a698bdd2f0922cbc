#include "prep/layout/table_ids.h"

#include "core/interrupt.h"
#include "prep/table/text_cells.h"

#include <sluice/units.h>

#include <fmt/format.h>

namespace sluice {
namespace {

constexpr std::uint64_t kSampleRows = std::uint64_t{1} << 16;
constexpr std::uint64_t kScanRows = std::uint64_t{1} << 24;

/// Hands out the values of a column as texts, until there are enough; false where there are more.
template <class Take>
bool read_as_texts(const FileSet& files,
                   const TableOptions& options,
                   const TableColumn& of,
                   std::uint64_t most,
                   Take take) {
  const auto table = files.open(of.file, of.format, options);
  const ColumnInfo column = table->column(of.column, 0);
  (void)table->turn_pairs(column.name, TwoByTwo::kRows);
  const ColumnInfo& turned = table->column(column.name, 0);
  // 63 bits may not hold what is stored as u64.
  const bool text = !turned.dtype || turned.dtype == DType::kU64;
  table->select(
      {{column.name, text ? ColumnType::kText : ColumnType::kInteger, EmptyCell::kMissing}});
  std::uint64_t rows = 0;
  for (TableChunk chunk; table->next(chunk); rows += chunk.rows) {
    throw_if_interrupted();
    if (rows >= most) return false;
    const ColumnValues& values = chunk.columns[0];
    for (std::size_t i = 0; text && i < values.text.size(); ++i) take(trimmed_cell(values.text[i]));
    for (const std::int64_t value : values.integers) {
      const fmt::format_int digits(value);
      take(std::string_view(digits.data(), digits.size()));
    }
  }
  return true;
}

}  // namespace

void sample_ids(const FileSet& files,
                const TableOptions& options,
                const TableColumn& column,
                IdSample& sample) {
  const bool whole = read_as_texts(files, options, column, kSampleRows, [&](std::string_view id) {
    if (!id.empty()) sample.ids.emplace(id);
  });
  sample.whole = sample.whole && whole;
}

std::vector<IdShare> shares_of(const FileSet& files,
                               const TableOptions& options,
                               const TableColumn& column,
                               const std::vector<const IdSample*>& samples) {
  std::vector<IdShare> shares(samples.size());
  std::vector<std::unordered_set<std::string>> found(samples.size());
  std::string key;
  (void)read_as_texts(files, options, column, kScanRows, [&](std::string_view id) {
    key.assign(id);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!samples[i]->ids.contains(key)) continue;
      if (!found[i].insert(key).second) shares[i].once = false;
    }
  });
  for (std::size_t i = 0; i < samples.size(); ++i) {
    shares[i].ids = samples[i]->ids.size();
    shares[i].found = found[i].size();
  }
  return shares;
}

std::string IdShare::text() const {
  if (found == ids) return fmt::format("all {}", format_count(ids));
  return fmt::format("{} of the {}", format_count(found), format_count(ids));
}

}  // namespace sluice
