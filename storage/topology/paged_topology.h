// PagedTopology: a relation whose edges stay on disk. In RAM: compressed offsets, checksums, a
// staging buffer and a cache of pages.
//
// Of a batch of positions, each page is wanted once: taken from the cache, or read together with
// its wanted neighbours and through short gaps in requests of up to 256 KiB, many in flight, each
// page checked as it arrives. A node with a million in-edges costs the pages of its chosen ones.
// ranges() is answered from RAM by any number of threads; the other calls wait for each other.
#pragma once

#include "storage/format/checksum.h"
#include "storage/format/manifest.h"
#include "storage/topology/compressed_offsets.h"
#include "storage/topology/edge_reader.h"
#include "storage/topology/page_cache.h"

#include <sluice/dataset.h>
#include <sluice/mutex.h>
#include <sluice/topology.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class PagedTopology final : public Topology {
 public:
  /// Opens the relation's files and loads its offsets. Charged as "topology", "topology staging",
  /// "topology cache" and "page checksums". Throws Error, as ResidentTopology::load does for
  /// offsets; a neighbour that is no node is a kData error of the call that meets it.
  static std::unique_ptr<PagedTopology> open(const std::filesystem::path& root,
                                             const Manifest& manifest,
                                             const RelationSchema& relation,
                                             const DatasetOptions& options,
                                             const TopologyOptions& topology_options);

  std::uint64_t num_sources() const override { return num_sources_; }
  std::uint64_t num_targets() const override { return offsets_.num_targets(); }
  std::uint64_t num_edges() const override { return offsets_.num_edges(); }
  Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) override;
  Result<void> neighbours(std::span<const std::uint64_t> positions,
                          std::span<std::uint64_t> out) override;
  Result<void> edge_ids(std::span<const std::uint64_t> positions,
                        std::span<std::uint64_t> out) override;
  TopologyStats stats() const override;

  /// The widest gap between wanted pages that is read through: what costs as much as another
  /// request, as of the disk (DiskProfile::request_overhead_bytes()).
  void set_gap(std::uint64_t bytes);

  /// Reads go through a buffer of so many bytes, and as many sort what is wanted, in place of its
  /// own, which stay: for a time when there is memory, for then more reads are under way. 0: its
  /// own again, as after an error. Charged as "topology staging". Errors: kResource.
  Result<void> lend_staging(std::uint64_t bytes);
  /// Of its own buffer.
  std::uint64_t staging_bytes() const { return own_->staging->size(); }

  /// Of its readers: latencies, retries.
  IoStats io_stats() const;
  /// "io_uring" or "pread".
  std::string_view engine_name() const { return own_->reader->engine().name(); }
  /// Why this engine: for the log.
  const std::string& engine_reason() const { return own_->engine_reason; }

 private:
  // A file of ids, one an edge.
  struct Column {
    std::filesystem::path path;
    unsigned id_bytes_log2 = 2;
    std::uint64_t bound = 0;  // every id is below it
    ChecksumFile sums;
    std::shared_ptr<const File> file;
    FileSlot slot{};
    std::uint64_t first_page = 0;  // of the file, as the cache counts pages

    unsigned page_log2() const { return 12 - id_bytes_log2; }  // ids a page
  };
  // One request and the wanted positions on its pages, piece.wanted[first, last): some of them may
  // have been delivered already.
  struct Run {
    std::size_t first = 0;
    std::size_t last = 0;
    std::uint64_t first_page = 0;  // of the file
    std::uint64_t pages = 0;
  };
  class PieceSource;

  PagedTopology() = default;
  std::unique_ptr<EdgeReader> open_reader(std::uint64_t staging_bytes) const;
  EdgeReader& reader() SLUICE_REQUIRES(mutex_) { return lent_ ? *lent_ : *own_; }
  void open_column(Column& column,
                   const std::filesystem::path& root,
                   const Manifest& manifest,
                   const std::string& path,
                   DType dtype,
                   const DatasetOptions& options);
  Result<void> fetch(const Column& column,
                     std::span<const std::uint64_t> positions,
                     std::span<std::uint64_t> out);
  Result<void> fetch_piece(const Column& column,
                           const PositionPiece& piece,
                           std::span<std::uint64_t> out) SLUICE_REQUIRES(mutex_);
  void deliver(const Column& column,
               const PositionPiece& piece,
               const Run& run,
               const std::byte* bytes,
               std::span<std::uint64_t> out) SLUICE_REQUIRES(mutex_);

  std::uint64_t num_sources_ = 0;
  CompressedOffsets offsets_;
  Column neighbours_;
  std::optional<Column> edge_ids_;
  IoChoice io_ = IoChoice::kAuto;
  MemoryLedger* ledger_ = nullptr;

  mutable Mutex mutex_;
  std::unique_ptr<EdgeReader> own_;  // made by open(); its use is for who holds the mutex
  std::unique_ptr<EdgeReader> lent_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t gap_pages_ SLUICE_GUARDED_BY(mutex_) = 4;
  PageCache cache_ SLUICE_GUARDED_BY(mutex_);
  std::optional<Error> problem_ SLUICE_GUARDED_BY(mutex_);  // with the ids that were delivered
  TopologyStats stats_ SLUICE_GUARDED_BY(mutex_);
  IoStats before_ SLUICE_GUARDED_BY(mutex_);  // of readers that were lent and given back
};

}  // namespace sluice
