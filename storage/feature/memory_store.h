// MemoryFeatureStore: a feature table loaded into RAM. The same bytes as the store on disk, without
// the reads.
#pragma once

#include "core/host_pinning.h"
#include "storage/format/layout.h"
#include "storage/format/manifest.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/dataset.h>
#include <sluice/feature_store.h>

#include <filesystem>
#include <memory>
#include <string>

namespace sluice {

class MemoryFeatureStore final : public FeatureStore {
 public:
  /// Loads the table at `path`, charged as "features". Throws Error. @param device may be null
  static std::unique_ptr<MemoryFeatureStore> load(const std::filesystem::path& root,
                                                  const Manifest& manifest,
                                                  const FeatureSchema& schema,
                                                  const std::string& path,
                                                  const DatasetOptions& options,
                                                  IoChoice io,
                                                  std::shared_ptr<HostPinning> device);

  const FeatureSchema& schema() const override { return schema_; }
  std::size_t row_bytes() const override { return layout_.row_bytes; }
  std::string_view placement() const override { return "memory"; }
  using FeatureStore::gather;
  Result<void> gather(const GatherRequest& request) override;
  const std::byte* resident_row(std::uint64_t row) const override {
    return table_.data() + layout_.offset_of(row);
  }
  bool pinned() const override { return pinned_.held(); }
  FeatureStats stats() const override { return stats_; }

 private:
  FeatureSchema schema_;
  FeatureLayout layout_;
  AlignedBuffer table_;  // the file as it is: whole pages, so that no other memory pins one of them
  Pinned pinned_;
  FeatureStats stats_;
};

}  // namespace sluice
