#include "storage/feature/packing_buffers.h"

#include "storage/feature/packed_rows.h"
#include "storage/feature/run_writer.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>

namespace sluice {
namespace {

// Of the table under way: enough where a disk serves one alone, and the most that helps where
// others use it too. Requests are smaller than those of a scan alone, for writes wait behind them.
constexpr std::uint64_t kScanBytes = 12 * kMiB;
constexpr std::uint64_t kMostScanBytes = 24 * kMiB;
constexpr std::uint64_t kRequestBytes = 256 * kKiB;
constexpr std::uint64_t kScanDepth = 12;  // requests: with less room they get smaller
// Memory beyond good_bytes() is taken from rows that would need no run otherwise: one part in so
// many of the table at most, which is twice as much to be moved.
constexpr std::uint64_t kTableShare = 128;
constexpr std::uint64_t kLeastScanDepth = 4;                // of one part each
constexpr std::uint64_t kLeastPackingPagesAhead = 4 << 20;  // smaller buffers do without a thread

// The most that one part of a table takes.
std::uint64_t part_bytes(const FeatureLayout& layout) {
  return round_up_to_page(std::max<std::uint64_t>(layout.row_bytes, NeededParts::kPartBytes)) +
         2 * kPageBytes;
}

std::uint64_t least_scan_bytes(const FeatureLayout& layout) {
  return kLeastScanDepth * part_bytes(layout);
}

std::uint64_t cursor_bytes(std::size_t runs) {
  return runs * PackingBuffers::kIdsAhead * sizeof(std::uint64_t);
}

// What runs take at least.
std::uint64_t least_run_bytes(std::size_t runs) {
  return (runs + RunWriter::kLeastSpare) * RunWriter::kLeastChunk + cursor_bytes(runs);
}

std::uint64_t bytes_with(std::uint64_t chunk, std::uint64_t scan, std::size_t runs) {
  return scan + (runs + RunWriter::kGoodSpare) * chunk + cursor_bytes(runs);
}

// Half of the buffers or what runs can spare, up to kScanBytes; beyond, what is left when all runs
// have their largest chunks.
std::uint64_t scan_bytes(std::size_t runs, const FeatureLayout& layout, std::uint64_t bytes) {
  const std::uint64_t spare = bytes - std::min(bytes, least_run_bytes(runs));
  const std::uint64_t least = least_scan_bytes(layout);
  const std::uint64_t good = std::max(least, kScanBytes);
  const std::uint64_t most = std::max(least, kMostScanBytes);
  const std::uint64_t left = bytes - std::min(bytes, bytes_with(RunWriter::kMostChunk, 0, runs));
  return std::clamp(
      std::max(std::min({bytes / 2, spare, good}), left) / kPageBytes * kPageBytes, least, most);
}

void make_pages(AlignedBuffer& buffer, std::optional<PagesAhead>& pages) {
  if (buffer.size() < kLeastPackingPagesAhead) return;
  pages.emplace(buffer.bytes());
  pages->want(buffer.size());
}

}  // namespace

std::uint64_t PackingBuffers::least_bytes(std::size_t runs, const FeatureLayout& layout) {
  return least_scan_bytes(layout) + least_run_bytes(runs);
}

std::uint64_t PackingBuffers::good_bytes(std::size_t runs, const FeatureLayout& layout) {
  return least_scan_bytes(layout) + bytes_with(RunWriter::kGoodChunk, kScanBytes, runs);
}

std::uint64_t PackingBuffers::share_of(std::uint64_t bytes,
                                       std::size_t runs,
                                       const FeatureLayout& layout) {
  return std::clamp(
      std::min(bytes / 4, layout.file_bytes() / kTableShare),
      good_bytes(runs, layout),
      least_scan_bytes(layout) + bytes_with(RunWriter::kMostChunk, kMostScanBytes, runs));
}

std::shared_ptr<AlignedBuffer> PackingBuffers::give_scan(std::uint64_t bytes) {
  if (scan_->size() < bytes) return nullptr;
  scan_pages_.reset();
  scan_->shrink(bytes, "feature staging");
  return std::move(scan_);
}

PackingBuffers::PackingBuffers(std::size_t runs,
                               const FeatureLayout& layout,
                               std::uint64_t bytes,
                               MemoryLedger* ledger)
    : runs_(runs) {
  const std::uint64_t scan = scan_bytes(runs, layout, bytes);
  const std::uint64_t others = scan + cursor_bytes(runs);
  const RunWriter::Chunks chunks = RunWriter::chunks_for(bytes - std::min(bytes, others), runs);
  chunk_ = chunks.bytes;
  if (chunk_ == 0) {
    throw Error(ErrorCode::kResource,
                fmt::format("repacking {} runs needs {} of buffers, {} are granted",
                            runs,
                            format_bytes(least_bytes(runs, layout)),
                            format_bytes(bytes)),
                "raise [memory] host, or set [storage] plan to \"direct\" or \"sweep\"");
  }
  request_ = std::max(std::min(kRequestBytes, scan / kScanDepth / kPageBytes * kPageBytes),
                      part_bytes(layout));
  constexpr std::string_view kName = "packing buffers";
  if (ledger != nullptr) cursors_ = ledger->charge(kName, cursor_bytes(runs)).or_throw();
  scan_ = std::make_shared<AlignedBuffer>(AlignedBuffer::make(scan, ledger, kName).or_throw());
  chunks_ = AlignedBuffer::make(chunks.count * chunk_, ledger, kName).or_throw();
  make_pages(*scan_, scan_pages_);
  make_pages(chunks_, chunk_pages_);
}

}  // namespace sluice
