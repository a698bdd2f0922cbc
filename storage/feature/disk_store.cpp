#include "storage/feature/disk_store.h"

#include "storage/feature/gather_check.h"
#include "storage/feature/row_copy.h"
#include "storage/format/data_file.h"
#include "storage/io/engine_kind.h"
#include "storage/io/staging_ring.h"

#include <algorithm>
#include <deque>

namespace sluice {
namespace {

constexpr std::uint32_t kLeastDepth = 8;  // requests that a staging buffer holds, if rows let it
constexpr std::size_t kRowsAhead = 16;    // whose entries in the caller's lists are asked for

// What a shape may ask of a staging buffer.
std::uint64_t request_limit(const RequestShape& shape,
                            std::uint64_t staging,
                            std::size_t row_bytes) {
  const std::uint64_t row = round_up_to_page(row_bytes) + kPageBytes;
  return std::max(std::min<std::uint64_t>(shape.max_request, staging / kLeastDepth), row);
}

// The requests of sorted rows, one by one, and the copying out of what they bring.
class GatherSource final : public ReadSource {
 public:
  struct Target {
    FileSlot file;
    BufferSlot buffer;
    const std::byte* staging;
    std::uint64_t staging_bytes;
  };

  GatherSource(const WantedRows& wanted,
               const FeatureLayout& layout,
               const RequestShape& shape,
               const Target& target,
               std::span<std::byte> out,
               FeatureStats& stats)
      : wanted_(wanted),
        layout_(layout),
        max_request_(request_limit(shape, target.staging_bytes, layout.row_bytes)),
        max_gap_pages_(shape.max_gap / kPageBytes),
        target_(target),
        ring_(target.staging_bytes),
        rows_(out.data(), layout.row_bytes),
        stats_(stats) {}

  // A row never straddles two requests: where a run gets too long, the next one begins with that
  // row's first page.
  std::optional<BlockRead> next() override {
    if (next_ == wanted_.size()) return std::nullopt;
    const std::uint64_t first_page = layout_.first_page_of(wanted_.row(next_));
    std::uint64_t end_page = layout_.last_page_of(wanted_.row(next_)) + 1;
    std::size_t last = next_ + 1;
    for (; last < wanted_.size(); ++last) {
      wanted_.prefetch_row(last + kRowsAhead);
      const std::uint64_t row = wanted_.row(last);
      const std::uint64_t next_end = layout_.last_page_of(row) + 1;
      const bool gap = layout_.first_page_of(row) > end_page + max_gap_pages_;
      if (gap || (next_end > end_page && (next_end - first_page) * kPageBytes > max_request_))
        break;
      end_page = std::max(end_page, next_end);
    }
    const std::uint64_t length = (end_page - first_page) * kPageBytes;
    const std::optional<std::uint64_t> offset = ring_.take(length);
    if (!offset) return std::nullopt;
    runs_.push_back({next_, last, first_page * kPageBytes, static_cast<std::uint32_t>(length)});
    next_ = last;
    return BlockRead{target_.file,
                     target_.buffer,
                     static_cast<std::uint32_t>(length),
                     first_page * kPageBytes,
                     *offset};
  }

  void done(std::size_t index) override {
    const Run& run = runs_[index - first_run_];
    const std::byte* from = target_.staging + ring_.offset_of(index);
    for (std::size_t i = run.first; i < run.last; ++i) {
      wanted_.prefetch(i + kRowsAhead);
      if (i + RowCopy::kAhead < run.last) rows_.expect(wanted_.place(i + RowCopy::kAhead));
      rows_.copy(wanted_.place(i), from + (layout_.offset_of(wanted_.row(i)) - run.file_offset));
    }
    ++stats_.requests;
    stats_.bytes_read += run.length;
    ring_.give_back(index);
    runs_[index - first_run_].length = 0;
    while (!runs_.empty() && runs_.front().length == 0) {
      runs_.pop_front();
      ++first_run_;
    }
  }

 private:
  // One request and the rows it brings: wanted_[first, last).
  struct Run {
    std::size_t first;
    std::size_t last;
    std::uint64_t file_offset;
    std::uint32_t length;  // 0: done
  };

  WantedRows wanted_;
  const FeatureLayout& layout_;
  std::uint64_t max_request_;
  std::uint64_t max_gap_pages_;
  Target target_;
  StagingRing ring_;
  RowCopy rows_;
  FeatureStats& stats_;
  std::size_t next_ = 0;
  std::deque<Run> runs_;  // those in flight
  std::size_t first_run_ = 0;
};

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
  store->engine_options_ = engine_options;
  store->opened_ =
      std::make_shared<const File>(File::open_read(root / path, Direct::kAuto).or_throw());
  store->file_ = store->reader_->attach(store->opened_, store->sums_.page_sums).or_throw();

  // A row must fit, however wide it is.
  const std::uint64_t least = round_up_to_page(store->layout_.row_bytes) + kPageBytes;
  store->buffer_ = std::make_shared<AlignedBuffer>(
      AlignedBuffer::make(std::max(store_options.staging_bytes, least),
                          options.ledger,
                          "feature staging",
                          store_options.device)
          .or_throw());
  store->buffer_slot_ = store->reader_->attach(store->buffer_).or_throw();
  return store;
}

Result<std::unique_ptr<BlockReader>> DiskFeatureStore::make_reader() const {
  auto choice = make_io_engine(engine_options_);
  if (!choice) return std::move(choice).error();
  auto reader = std::make_unique<BlockReader>(std::move(choice).value().engine);
  auto slot = reader->attach(opened_, sums_.page_sums);
  if (!slot) return std::move(slot).error();
  return reader;
}

FeatureStats DiskFeatureStore::stats() const {
  FeatureStats stats = stats_;
  stats.latency += reader_->stats().latency;
  return stats;
}

void DiskFeatureStore::count_extra(const IoStats& pass) {
  stats_.bytes_read += pass.bytes;
  stats_.requests += pass.requests;
  stats_.latency += pass.latency;
}

Result<void> DiskFeatureStore::gather(const GatherRequest& request) {
  if (auto checked = check_gather(schema_, layout_.row_bytes, request); !checked) return checked;
  if (auto sorted = sort_wanted(request); !sorted) return sorted;
  return gather_sorted(wanted_, request.shape, request.out);
}

Result<void> DiskFeatureStore::gather_sorted(const WantedRows& wanted,
                                             const RequestShape& shape,
                                             std::span<std::byte> out) {
  stats_.rows += wanted.size();
  stats_.bytes_useful += wanted.size() * layout_.row_bytes;
  if (layout_.row_bytes == 0) return {};
  GatherSource source(
      wanted, layout_, shape, {file_, buffer_slot_, buffer_->data(), buffer_->size()}, out, stats_);
  return reader_->read(source);
}

Result<void> DiskFeatureStore::sort_wanted(const GatherRequest& request) {
  const std::span<const std::uint64_t> rows = request.rows;
  wanted_.clear();
  if (rows.size() > wanted_.capacity()) {
    if (ledger_ != nullptr) {
      wanted_ = {};
      wanted_charge_.release();
      auto charge = ledger_->charge("feature staging", rows.size() * sizeof(WantedRow));
      if (!charge) return std::move(charge).error();
      wanted_charge_ = std::move(charge).value();
    }
    wanted_.reserve(rows.size());
  }
  bool sorted = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sorted = sorted && (i == 0 || rows[i - 1] <= rows[i]);
    wanted_.push_back({rows[i], request.places.empty() ? i : request.places[i]});
  }
  if (!sorted) {
    std::sort(wanted_.begin(), wanted_.end(), [](const WantedRow& a, const WantedRow& b) {
      return a.row != b.row ? a.row < b.row : a.place < b.place;
    });
  }
  return {};
}

}  // namespace sluice
