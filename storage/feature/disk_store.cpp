#include "storage/feature/disk_store.h"

#include "storage/format/data_file_reader.h"
#include "storage/io/engine_kind.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr std::uint64_t kMaxRequestBytes =
    64 * 1024;  // full bandwidth already (bench/storage), and short to wait for

}  // namespace

std::unique_ptr<DiskFeatureStore> DiskFeatureStore::open(const std::filesystem::path& root,
                                                         const Manifest& manifest,
                                                         const FeatureSchema& schema,
                                                         const std::string& path,
                                                         const DatasetOptions& options,
                                                         const FeatureStoreOptions& store_options) {
  auto store = std::make_unique<DiskFeatureStore>();
  store->schema_ = schema;
  store->layout_ = Manifest::layout_of(schema);
  const FileEntry entry = find_file(root, manifest, path).or_throw();
  if (options.verify == Verify::kRead)
    store->sums_ = load_checksums(root, entry, options.ledger).or_throw();

  IoEngineOptions engine_options;
  engine_options.kind = engine_kind(store_options.io);
  IoEngineChoice choice = make_io_engine(engine_options).or_throw();
  store->ledger_ = options.ledger;
  store->engine_reason_ = choice.reason;
  store->reader_ = std::make_unique<BlockReader>(std::move(choice.engine));
  auto file = std::make_shared<const File>(File::open_read(root / path, Direct::kAuto).or_throw());
  store->file_ = store->reader_->attach(std::move(file), store->sums_.page_sums).or_throw();

  // A row and a half request must fit, however wide rows are.
  const std::uint64_t least =
      round_up_to_page(store->layout_.row_bytes) + kPageBytes + kMaxRequestBytes;
  store->buffer_ = std::make_shared<AlignedBuffer>(
      AlignedBuffer::make(
          std::max(store_options.staging_bytes, least), options.ledger, "feature staging")
          .or_throw());
  store->buffer_slot_ = store->reader_->attach(store->buffer_).or_throw();
  return store;
}

Result<void> DiskFeatureStore::gather(std::span<const std::uint64_t> rows,
                                      std::span<std::byte> out) {
  stats_.rows += rows.size();
  stats_.bytes_useful += rows.size() * layout_.row_bytes;
  if (layout_.row_bytes == 0) return {};
  if (auto sorted = sort_wanted(rows); !sorted) return sorted;
  for (std::size_t done = 0; done < wanted_.size();) {
    const std::size_t end = plan_wave(done);
    auto read = reader_->read(reads_, [&](std::size_t i) {
      deliver(reads_[i], runs_[i], out);
      ++stats_.requests;
      stats_.bytes_read += reads_[i].length;
    });
    if (!read) return read;
    done = end;
  }
  return {};
}

Result<void> DiskFeatureStore::sort_wanted(std::span<const std::uint64_t> rows) {
  wanted_.clear();
  if (rows.size() > wanted_.capacity()) {
    if (ledger_ != nullptr) {
      auto charge = ledger_->charge("feature staging", rows.size() * sizeof(Wanted));
      if (!charge) return std::move(charge).error();
      wanted_charge_ = std::move(charge).value();
    }
    wanted_.reserve(rows.size());
  }
  for (std::size_t i = 0; i < rows.size(); ++i) wanted_.push_back({rows[i], i});
  std::sort(wanted_.begin(), wanted_.end(), [](const Wanted& a, const Wanted& b) {
    return a.row != b.row ? a.row < b.row : a.position < b.position;
  });
  return {};
}

// Fills reads_ and runs_ with as many of the wanted rows as the staging buffer holds; returns the
// end of them. A row never straddles two requests: where a run gets too long, the next one begins
// with that row's first page.
std::size_t DiskFeatureStore::plan_wave(std::size_t first_wanted) {
  reads_.clear();
  runs_.clear();
  std::uint64_t used = 0;
  std::size_t i = first_wanted;
  while (i < wanted_.size()) {
    const std::uint64_t first_page = layout_.first_page_of(wanted_[i].row);
    std::uint64_t end_page = layout_.last_page_of(wanted_[i].row) + 1;
    std::size_t j = i + 1;
    for (; j < wanted_.size(); ++j) {
      const std::uint64_t next_end = layout_.last_page_of(wanted_[j].row) + 1;
      const bool gap = layout_.first_page_of(wanted_[j].row) > end_page;
      if (gap || (next_end > end_page && (next_end - first_page) * kPageBytes > kMaxRequestBytes))
        break;
      end_page = std::max(end_page, next_end);
    }
    const std::uint64_t length = (end_page - first_page) * kPageBytes;
    if (used + length > buffer_->size()) break;
    reads_.push_back(
        {file_, buffer_slot_, static_cast<std::uint32_t>(length), first_page * kPageBytes, used});
    runs_.push_back({i, j});
    used += length;
    i = j;
  }
  return i;
}

void DiskFeatureStore::deliver(const BlockRead& read, const Run& run, std::span<std::byte> out) {
  const std::size_t row_bytes = layout_.row_bytes;
  const std::byte* from = buffer_->data() + read.buffer_offset;
  for (std::size_t i = run.first_row; i < run.last_row; ++i) {
    std::memcpy(out.data() + wanted_[i].position * row_bytes,
                from + (layout_.offset_of(wanted_[i].row) - read.file_offset),
                row_bytes);
  }
}

}  // namespace sluice
