#include "storage/topology/time_pages.h"

#include "storage/format/data_file.h"
#include "storage/io/engine_kind.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastPages = 16;   // of the staging buffer
constexpr std::uint64_t kMostPages = 4096;  // 16 MiB: more in flight read no faster
constexpr std::uint64_t kRunPages = 64;     // of one request

}  // namespace

Result<TimePages> TimePages::open(const std::filesystem::path& root,
                                  const FileEntry& entry,
                                  const DatasetOptions& options,
                                  const TopologyOptions& topology_options) {
  TimePages pages;
  auto file = File::open_read(root / entry.path, Direct::kAuto);
  if (!file) return std::move(file).error();
  pages.file_ = std::make_shared<const File>(std::move(file).value());
  pages.sums_ = std::make_unique<ChecksumFile>();
  if (options.verify == Verify::kRead) {
    auto sums = load_checksums(root, entry, options.ledger);
    if (!sums) return std::move(sums).error();
    *pages.sums_ = std::move(sums).value();
  }
  const std::uint64_t all = entry.bytes / kPageBytes;
  const std::uint64_t held = std::clamp(
      std::min(topology_options.staging_bytes / kPageBytes, all), kLeastPages, kMostPages);
  auto staging = AlignedBuffer::make(held * kPageBytes, options.ledger, "topology staging");
  if (!staging) return std::move(staging).error();
  pages.staging_ = std::make_shared<AlignedBuffer>(std::move(staging).value());
  auto cache = PageCache::make(topology_options.cache_bytes, all, options.ledger);
  if (!cache) return std::move(cache).error();
  pages.cache_ = std::move(cache).value();

  IoEngineOptions engine;
  engine.kind = engine_kind(topology_options.io);
  auto choice = make_io_engine(engine);
  if (!choice) return std::move(choice).error();
  pages.reader_ = std::make_unique<BlockReader>(std::move(choice.value().engine));
  auto file_slot = pages.reader_->attach(pages.file_, pages.sums_->page_sums);
  if (!file_slot) return std::move(file_slot).error();
  pages.file_slot_ = file_slot.value();
  auto staging_slot = pages.reader_->attach(pages.staging_);
  if (!staging_slot) return std::move(staging_slot).error();
  pages.staging_slot_ = staging_slot.value();
  return pages;
}

Result<void> TimePages::visit(std::span<const std::uint64_t> pages, const Look& look) {
  missing_.clear();
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (const std::byte* const cached = cache_.find(pages[i])) {
      look(i, cached);
    } else {
      missing_.push_back(i);
    }
  }
  const std::size_t room = staging_->size() / kPageBytes;
  for (std::size_t first = 0; first < missing_.size(); first += room) {
    const auto some = std::span<const std::size_t>(missing_).subspan(
        first, std::min(room, missing_.size() - first));
    if (auto done = read(pages, some, look); !done) return done;
  }
  return {};
}

// As many as the staging buffer holds: the k-th of them lies there as its k-th page.
Result<void> TimePages::read(std::span<const std::uint64_t> pages,
                             std::span<const std::size_t> missing,
                             const Look& look) {
  std::vector<BlockRead> reads;
  std::vector<std::size_t> first_of;  // by read: which of `missing` it begins with
  for (std::size_t k = 0; k < missing.size(); ++k) {
    const bool follows = k != 0 && pages[missing[k]] == pages[missing[k - 1]] + 1 &&
                         reads.back().length < kRunPages * kPageBytes;
    if (follows) {
      reads.back().length += static_cast<std::uint32_t>(kPageBytes);
      continue;
    }
    reads.push_back({file_slot_,
                     staging_slot_,
                     static_cast<std::uint32_t>(kPageBytes),
                     pages[missing[k]] * kPageBytes,
                     k * kPageBytes});
    first_of.push_back(k);
  }
  return reader_->read(reads, [&](std::size_t index) {
    const std::size_t count = reads[index].length / kPageBytes;
    for (std::size_t k = first_of[index]; k < first_of[index] + count; ++k) {
      const std::byte* const bytes = staging_->data() + k * kPageBytes;
      look(missing[k], bytes);
      cache_.offer(pages[missing[k]], bytes);
    }
  });
}

}  // namespace sluice
