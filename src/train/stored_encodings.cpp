#include "train/stored_encodings.h"

#include "train/gathered_rows.h"

#include <sluice/error.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// Rows of a table that was written, to be read: all from memory, or those that are wanted.
class EncodedRows final : public RowTable {
 public:
  EncodedRows(const PanelTable& table, KeptRows keep, MemoryLedger& ledger)
      : table_(table), gathered_(table, keep, ledger) {
    if (keep == KeptRows::kAll) gathered_.fetch();
  }

  std::uint64_t rows() const override { return table_.shape().rows; }
  std::int64_t dim() const override { return static_cast<std::int64_t>(table_.shape().columns); }
  void expect(std::span<const std::uint64_t>) override {}
  bool looks_ahead() override { return false; }

  void gather(std::span<const std::uint64_t> ids, std::span<float> out) override { read(ids, out); }
  void read(std::span<const std::uint64_t> ids, std::span<float> out) override {
    gathered_.want(ids);
    gathered_.fetch();
    gathered_.copy(ids, out);
    gathered_.clear();
  }
  void read_range(std::uint64_t first, std::span<float> out) override {
    if (!out.empty()) table_.read_panel_rows(0, first, std::as_writable_bytes(out));
  }

  void update(std::span<const std::uint64_t>, std::span<const float>) override { refuse(); }
  void update_range(std::uint64_t, std::span<const float>) override { refuse(); }

  RowsInPlace in_place() override {
    const std::span<float> all = gathered_.all();
    if (all.empty()) return {};
    return {all.data(), table_.shape().columns};
  }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::kInternal, "rows that a model made are not learned");
  }

  const PanelTable& table_;
  GatheredRows gathered_;
};

nn::LearnedRows made_rows(const NodeTables& tables, MemoryLedger& ledger) {
  constexpr std::uint64_t kShare = 4;  // of what is left, for rows that all stay
  std::uint64_t bytes = 0;
  for (const auto& table : tables)
    if (table) bytes += table->bytes();
  const KeptRows keep = bytes <= ledger.available() / kShare ? KeptRows::kAll : KeptRows::kWanted;
  std::vector<nn::LearnedRows::Table> rows(tables.size());
  for (std::size_t type = 0; type < tables.size(); ++type)
    if (tables[type]) rows[type].rows = std::make_shared<EncodedRows>(*tables[type], keep, ledger);
  return {std::move(rows), torch::kCPU};
}

}  // namespace

StoredEncodings::StoredEncodings(NodeTables tables, MemoryLedger& ledger)
    : tables_(std::move(tables)), rows_(made_rows(tables_, ledger)) {}

BatchNeeds StoredEncodings::needs() const {
  BatchNeeds needs;
  needs.feature_groups.clear();
  return needs;
}

Encoding StoredEncodings::encode(const Batch& batch) {
  Encoding encoded(tables_.size());
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    if (!tables_[type] || batch.num_seeds(type) == 0) continue;
    encoded[type] = rows_.of(type, std::as_const(batch.seeds[type]).as<std::uint64_t>());
  }
  return encoded;
}

}  // namespace sluice
