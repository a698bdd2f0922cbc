#include "prep/import/sparse_choice.h"

#include "core/interrupt.h"
#include "prep/features/feature_encoder.h"
#include "prep/features/sparse_rows.h"
#include "prep/import/feature_rows.h"
#include "storage/format/layout.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

/// The entries of the fullest row, at least 1, and how many rows there are.
struct Fullest {
  std::uint32_t entries = 1;
  std::uint64_t rows = 0;
};

// What may not be stored is passed over here: it is said where the rows are stored.
Fullest find_fullest(ImportContext& context, FeatureRows& rows, const FeatureEncoding& dense) {
  FeatureEncoder encoder(dense, context.prep);
  Fullest fullest;
  while (rows.next(encoder)) {
    throw_if_interrupted();
    const FeatureEncoder::Rows encoded =
        encoder.encode(rows.first_row(), rows.dtype(), rows.elements());
    fullest.entries =
        std::max(fullest.entries, most_entries(dense.dtype, dense.dim, encoded.bytes));
    fullest.rows += rows.num_rows_read();
  }
  return fullest;
}

std::uint64_t bytes_of(const FeatureEncoding& dense, std::uint64_t rows, std::uint32_t entries) {
  FeatureSchema table;
  table.dtype = dense.dtype;
  table.dim = dense.dim;
  table.rows = rows;
  table.entries = entries;
  return FeatureLayout::make(table).file_bytes();
}

}  // namespace

std::uint32_t choose_entries(ImportContext& context,
                             const FeatureSpec& spec,
                             const RowTarget& target) {
  const FeatureSchema* const there =
      target.earlier == nullptr || target.earlier->schema().features.empty()
          ? nullptr
          : &target.earlier->schema().features.front();
  if (target.earlier != nullptr && (there == nullptr || !there->sparse())) return 0;
  const bool dense_alone = spec.storage == FeatureStorage::kDense || spec.scaling.any() ||
                           spec.choice.dtype == FeatureDType::kInt8;
  if (there == nullptr && dense_alone) return 0;
  FeatureRows rows(context, spec, target, FeatureRows::As::kStored);
  const bool only_if_smaller = there == nullptr && spec.storage == FeatureStorage::kAuto;
  if (only_if_smaller && !rows.of_sparse_matrix()) return 0;
  FeatureEncoding dense;
  dense.dtype = there != nullptr ? there->dtype : spec.choice.stored(rows.source_dtype());
  dense.dim = rows.dim();
  const Fullest fullest = find_fullest(context, rows, dense);
  if (there != nullptr) return std::max(there->entries, fullest.entries);
  const std::uint64_t sparse_bytes = bytes_of(dense, fullest.rows, fullest.entries),
                      dense_bytes = bytes_of(dense, fullest.rows, 0);
  if (only_if_smaller && sparse_bytes >= dense_bytes) return 0;
  context.prep.log.info("{}: stored sparse, with room for {} entries a row: {}, dense {}",
                        spec.file,
                        format_count(fullest.entries),
                        format_bytes(sparse_bytes),
                        format_bytes(dense_bytes));
  return fullest.entries;
}

}  // namespace sluice
