#include "train/stored_encodings.h"

#include <span>
#include <utility>

namespace sluice {

StoredEncodings::StoredEncodings(NodeTables tables, MemoryLedger& ledger)
    : tables_(std::move(tables)) {
  constexpr std::uint64_t kShare = 4;  // of what is left, for rows that all stay
  std::uint64_t bytes = 0;
  for (const auto& table : tables_)
    if (table) bytes += table->bytes();
  const KeptRows keep = bytes <= ledger.available() / kShare ? KeptRows::kAll : KeptRows::kWanted;
  for (const auto& table : tables_) {
    rows_.emplace_back();
    if (table) rows_.back().emplace(*table, keep, ledger);
  }
}

BatchNeeds StoredEncodings::needs() const {
  BatchNeeds needs;
  needs.feature_groups.clear();
  return needs;
}

Encoding StoredEncodings::encode(const Batch& batch) {
  Encoding encoded(rows_.size());
  for (std::size_t type = 0; type < rows_.size(); ++type) {
    const std::int64_t seeds = batch.num_seeds(type);
    if (!rows_[type] || seeds == 0) continue;
    const std::span<const std::uint64_t> ids = std::as_const(batch.seeds[type]).as<std::uint64_t>();
    rows_[type]->want(ids);
    rows_[type]->fetch();
    encoded[type] =
        torch::empty({seeds, static_cast<std::int64_t>(tables_[type]->shape().columns)});
    rows_[type]->copy(
        ids, {encoded[type].data_ptr<float>(), static_cast<std::size_t>(encoded[type].numel())});
    rows_[type]->clear();
  }
  return encoded;
}

}  // namespace sluice
