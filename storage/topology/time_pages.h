// TimePages: pages of one file that are looked at where they arrive: from a cache, or read in
// sorted, merged requests, many in flight, each page checked.
//
// Used by one thread at a time.
#pragma once

#include "storage/format/checksum.h"
#include "storage/format/manifest.h"
#include "storage/io/block_reader.h"
#include "storage/topology/page_cache.h"

#include <sluice/dataset.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class TimePages {
 public:
  /// Charged as "topology staging", "topology cache" and "page checksums". Errors: kData, kIo,
  /// kResource.
  static Result<TimePages> open(const std::filesystem::path& root,
                                const FileEntry& entry,
                                const DatasetOptions& options,
                                const TopologyOptions& topology_options);

  /// Shows the bytes of each of `pages`, which ascend and are distinct: `look(i, bytes)` of
  /// pages[i], in any order; it must not throw. Errors: kData, kIo.
  using Look = std::function<void(std::size_t index, const std::byte* bytes)>;
  Result<void> visit(std::span<const std::uint64_t> pages, const Look& look);

  std::uint64_t bytes_read() const { return reader_->stats().bytes; }

 private:
  TimePages() = default;
  Result<void> read(std::span<const std::uint64_t> pages,
                    std::span<const std::size_t> missing,
                    const Look& look);

  std::shared_ptr<const File> file_;
  std::unique_ptr<ChecksumFile> sums_;  // where it stays, for the reader
  std::shared_ptr<AlignedBuffer> staging_;
  std::unique_ptr<BlockReader> reader_;
  FileSlot file_slot_{};
  BufferSlot staging_slot_{};
  PageCache cache_;
  std::vector<std::size_t> missing_;
};

}  // namespace sluice
