// DiskFeatureStore: gathers rows straight from the table's file: sorted, deduplicated, neighbouring
// pages (and, where asked, gaps between them) merged into one request, many requests in flight,
// every page checked as it arrives. Memory: its staging buffer, the sums, and, where rows are not
// sorted by the caller, 16 bytes each.
#pragma once

#include "storage/feature/wanted_rows.h"
#include "storage/format/checksum.h"
#include "storage/format/layout.h"
#include "storage/format/manifest.h"
#include "storage/io/block_reader.h"

#include <sluice/dataset.h>
#include <sluice/feature_store.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

class DiskFeatureStore final : public FeatureStore {
 public:
  /// Opens the table at `path`. The staging buffer is charged as "feature staging". Throws Error.
  static std::unique_ptr<DiskFeatureStore> open(const std::filesystem::path& root,
                                                const Manifest& manifest,
                                                const FeatureSchema& schema,
                                                const std::string& path,
                                                const DatasetOptions& options,
                                                const FeatureStoreOptions& store_options);

  const FeatureSchema& schema() const override { return schema_; }
  std::size_t row_bytes() const override { return layout_.row_bytes; }
  std::string_view placement() const override { return "disk"; }
  using FeatureStore::gather;
  Result<void> gather(const GatherRequest& request) override;
  /// As gather, of rows in ascending order; takes no memory for them. Places are indices of rows of
  /// `out`.
  Result<void> gather_sorted(const WantedRows& wanted,
                             const RequestShape& shape,
                             std::span<std::byte> out);
  FeatureStats stats() const override;
  const IoStats& io_stats() const { return reader_->stats(); }
  /// "io_uring" or "pread".
  std::string_view engine_name() const { return reader_->engine().name(); }
  /// Why this engine: for the log.
  const std::string& engine_reason() const { return engine_reason_; }

  const FeatureLayout& layout() const { return layout_; }

  /// A second reader of the table's file, for passes over all of it; `file()` is its slot there
  /// too. Verifies as this store does. The store must outlive it.
  Result<std::unique_ptr<BlockReader>> make_reader() const;
  FileSlot file() const { return file_; }
  const IoEngineOptions& engine_options() const { return engine_options_; }
  /// Adds what such a pass read to stats().
  void count_extra(const IoStats& pass);

 private:
  Result<void> sort_wanted(const GatherRequest& request);

  FeatureSchema schema_;
  FeatureLayout layout_;
  ChecksumFile sums_;
  std::unique_ptr<BlockReader> reader_;
  std::string engine_reason_;
  IoEngineOptions engine_options_;
  std::shared_ptr<const File> opened_;
  FileSlot file_{};
  BufferSlot buffer_slot_{};
  std::shared_ptr<AlignedBuffer> buffer_;
  MemoryLedger* ledger_ = nullptr;
  Charge wanted_charge_;
  std::vector<WantedRow> wanted_;  // sorted; reused between calls
  FeatureStats stats_;             // its latencies: those of extra passes
};

}  // namespace sluice
