// DiskFeatureStore: gathers rows straight from the table's file: sorted, deduplicated, neighbouring
// pages merged into one request, many requests in flight, every page checked as it arrives. Memory:
// its staging buffer and the sums.
#pragma once

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
  Result<void> gather(std::span<const std::uint64_t> rows, std::span<std::byte> out) override;
  FeatureStats stats() const override { return stats_; }
  const IoStats& io_stats() const { return reader_->stats(); }
  /// "io_uring" or "pread".
  std::string_view engine_name() const { return reader_->engine().name(); }
  /// Why this engine: for the log.
  const std::string& engine_reason() const { return engine_reason_; }

 private:
  // One request and the rows it brings: wanted_[first_row, last_row).
  struct Run {
    std::size_t first_row;
    std::size_t last_row;
  };
  struct Wanted {
    std::uint64_t row;
    std::size_t position;  // in the caller's order
  };

  Result<void> sort_wanted(std::span<const std::uint64_t> rows);
  std::size_t plan_wave(std::size_t first_wanted);
  void deliver(const BlockRead& read, const Run& run, std::span<std::byte> out);

  FeatureSchema schema_;
  FeatureLayout layout_;
  ChecksumFile sums_;
  std::unique_ptr<BlockReader> reader_;
  std::string engine_reason_;
  FileSlot file_{};
  BufferSlot buffer_slot_{};
  std::shared_ptr<AlignedBuffer> buffer_;
  MemoryLedger* ledger_ = nullptr;
  Charge wanted_charge_;
  std::vector<Wanted> wanted_;  // reused between calls
  std::vector<BlockRead> reads_;
  std::vector<Run> runs_;
  FeatureStats stats_;
};

}  // namespace sluice
