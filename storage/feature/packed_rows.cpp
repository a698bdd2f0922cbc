#include "storage/feature/packed_rows.h"

#include "storage/feature/row_copy.h"
#include "storage/feature/run_writer.h"
#include "storage/io/staging_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

namespace sluice {
namespace {

// Reads the needed parts of a table in order, and hands them on in order.
class ScanSource final : public ReadSource {
 public:
  /// Takes rows [first, last), whose first page is at `bytes`; false ends the scan.
  using Take = std::function<bool(std::uint64_t first, std::uint64_t last, const std::byte* bytes)>;

  ScanSource(const DiskFeatureStore& store,
             const NeededParts& needed,
             BufferSlot slot,
             AlignedBuffer& buffer,
             std::uint64_t request_bytes,
             Take take)
      : store_(store),
        layout_(store.layout()),
        needed_(needed),
        slot_(slot),
        buffer_(buffer),
        request_bytes_(request_bytes),
        ring_(buffer.size()),
        take_(std::move(take)) {}

  std::optional<BlockRead> next() override {
    while (part_ < needed_.parts() && !needed_.has(part_)) ++part_;
    if (ended_ || part_ == needed_.parts()) return std::nullopt;
    std::uint64_t end = part_ + 1;
    while (end < needed_.parts() && needed_.has(end) && bytes_of(part_, end + 1) <= request_bytes_)
      ++end;
    const std::uint64_t length = bytes_of(part_, end);
    const auto offset = ring_.take(length);
    if (!offset) return std::nullopt;
    const std::uint64_t first = part_ * needed_.rows_a_part();
    const std::uint64_t last = std::min(end * needed_.rows_a_part(), layout_.rows);
    pieces_.push_back({first, last, false});
    part_ = end;
    return BlockRead{store_.file(),
                     slot_,
                     static_cast<std::uint32_t>(length),
                     layout_.first_page_of(first) * kPageBytes,
                     *offset};
  }

  void done(std::size_t index) override {
    pieces_[index - first_piece_].arrived = true;
    while (!pieces_.empty() && pieces_.front().arrived) {
      const Piece& piece = pieces_.front();
      ended_ =
          ended_ || !take_(piece.first, piece.last, buffer_.data() + ring_.offset_of(first_piece_));
      ring_.give_back(first_piece_++);
      pieces_.pop_front();
    }
  }

 private:
  struct Piece {
    std::uint64_t first, last;
    bool arrived;
  };

  // From the first page of a part to the last page before another.
  std::uint64_t bytes_of(std::uint64_t part, std::uint64_t end) const {
    const std::uint64_t first = part * needed_.rows_a_part();
    const std::uint64_t last = std::min(end * needed_.rows_a_part(), layout_.rows) - 1;
    return (layout_.last_page_of(last) + 1 - layout_.first_page_of(first)) * kPageBytes;
  }

  const DiskFeatureStore& store_;
  const FeatureLayout& layout_;
  const NeededParts& needed_;
  BufferSlot slot_;
  AlignedBuffer& buffer_;
  std::uint64_t request_bytes_;
  StagingRing ring_;
  Take take_;
  std::uint64_t part_ = 0;
  bool ended_ = false;
  std::deque<Piece> pieces_;
  std::size_t first_piece_ = 0;
};

// The ids of a run that lie ahead of the scan.
class IdCursor {
 public:
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  static constexpr std::size_t kIdsAhead = PackingBuffers::kIdsAhead;

  std::uint64_t peek(RunIds& ids, std::size_t run) {
    if (at_ == count_) {
      if (ended_) return kEnd;
      ahead_.resize(kIdsAhead);
      count_ = ids.take(run, ahead_);
      at_ = 0;
      ended_ = count_ == 0;
      if (ended_) return kEnd;
    }
    return ahead_[at_];
  }
  void pop() { ++at_; }

 private:
  std::vector<std::uint64_t> ahead_;
  std::size_t at_ = 0;
  std::size_t count_ = 0;
  bool ended_ = false;
};

}  // namespace

std::uint64_t NeededParts::rows_a_part(const FeatureLayout& layout) {
  const std::uint64_t align = std::max<std::uint64_t>(layout.rows_per_page, 1);
  return std::max<std::uint64_t>(kPartBytes / std::max(layout.row_bytes, 1u) / align, 1) * align;
}

std::uint64_t NeededParts::bytes(const FeatureLayout& layout) {
  const std::uint64_t each = rows_a_part(layout);
  return (layout.rows + each - 1) / each / 8 + sizeof(std::uint64_t);
}

NeededParts::NeededParts(const FeatureLayout& layout, MemoryLedger* ledger)
    : rows_a_part_(rows_a_part(layout)) {
  if (ledger != nullptr) charge_ = ledger->charge("epoch plan", bytes(layout)).or_throw();
  bits_.resize((layout.rows + rows_a_part_ - 1) / rows_a_part_);
}

std::uint64_t NeededParts::needed() const {
  return static_cast<std::uint64_t>(std::count(bits_.begin(), bits_.end(), true));
}

PackedRows::PackedRows(const DiskFeatureStore& store,
                       RunIds& ids,
                       const NeededParts& needed,
                       PackedRowsOptions options,
                       MemoryLedger* ledger,
                       const std::function<bool()>& stopped,
                       const Prefill& prefill)
    : ledger_(ledger),
      row_bytes_(store.row_bytes()),
      engine_(options.engine),
      read_bytes_(std::max(options.read_bytes, kRequestBytes)),
      scratch_(std::move(options.scratch)) {
  std::uint64_t end = 0;
  for (std::size_t run = 0; run < ids.runs(); ++run) {
    begins_.push_back(end);
    sizes_.push_back(ids.size(run));
    end += round_up_to_page(ids.size(run) * row_bytes_);
  }
  begins_.push_back(end);
  if (ledger != nullptr)
    sums_charge_ = ledger->charge("checksums", end / kPageBytes * sizeof(std::uint32_t)).or_throw();
  sums_.resize(end / kPageBytes);

  file_ = scratch_->take(options.folder, end);
  if (end != 0 || !prefill.rows.empty()) {
    std::shared_ptr<PackingBuffers> buffers = std::move(options.buffers);
    if (!buffers || buffers->runs() != ids.runs())
      buffers = std::make_shared<PackingBuffers>(
          ids.runs(), store.layout(), options.buffer_bytes, ledger);
    pack(store, ids, needed, *buffers, stopped, prefill);
    bytes_written_ = end;
    if (!options.read_at_once || end == 0) return;
    // Its pages are there: fresh ones would keep the first window waiting.
    if (auto buffer = buffers->give_scan(read_bytes_)) begin_reading(std::move(buffer)).or_throw();
  }
}

Result<void> PackedRows::begin_reading(std::shared_ptr<AlignedBuffer> buffer) {
  auto engine = make_io_engine(engine_);
  if (!engine) return std::move(engine).error();
  if (!buffer) {
    auto made = AlignedBuffer::make(read_bytes_, ledger_, "feature staging");
    if (!made) return std::move(made).error();
    buffer = std::make_shared<AlignedBuffer>(std::move(made).value());
  }
  ReadAhead::Source source;
  source.reader = std::make_unique<BlockReader>(std::move(engine).value().engine);
  auto file = source.reader->attach(std::shared_ptr<const File>(file_), sums_);
  if (!file) return std::move(file).error();
  source.file = file.value();
  source.bytes = begins_.back();
  source.buffer = std::move(buffer);
  auto slot = source.reader->attach(source.buffer);
  if (!slot) return std::move(slot).error();
  source.slot = slot.value();
  source.request_bytes = kRequestBytes;
  ahead_ = std::make_unique<ReadAhead>(std::move(source));
  return {};
}

PackedRows::~PackedRows() {
  ahead_.reset();  // has the file too
  scratch_->give_back(std::move(file_));
}

void PackedRows::pack(const DiskFeatureStore& store,
                      RunIds& ids,
                      const NeededParts& needed,
                      PackingBuffers& buffers,
                      const std::function<bool()>& stopped,
                      const Prefill& prefill) {
  const std::size_t runs = ids.runs();
  const FeatureLayout& layout = store.layout();
  const std::unique_ptr<BlockReader> reader = store.make_reader().or_throw();
  const BufferSlot slot = reader->attach(buffers.scan()).or_throw();
  RunWriter writer(*file_,
                   begins_,
                   sums_,
                   buffers.chunk_bytes(),
                   buffers.chunks().bytes(),
                   buffers.scan()->size());
  std::vector<IdCursor> cursor(runs);
  std::span<const WantedRow> straight = prefill.rows;
  RowCopy prefilled(prefill.table.data(), row_bytes_);
  std::optional<Error> problem;
  ScanSource source(
      store,
      needed,
      slot,
      *buffers.scan(),
      buffers.request_bytes(),
      [&](std::uint64_t first, std::uint64_t last, const std::byte* bytes) {
        try {
          if (stopped && stopped()) throw Error(ErrorCode::kInterrupted, "interrupted");
          const std::uint64_t base = layout.first_page_of(first) * kPageBytes;
          for (; !straight.empty() && straight.front().row < last; straight = straight.subspan(1)) {
            if (straight.size() > RowCopy::kAhead)
              prefilled.expect(straight[RowCopy::kAhead].place);
            prefilled.copy(straight.front().place,
                           bytes + (layout.offset_of(straight.front().row) - base));
          }
          for (std::size_t run = 0; run < runs; ++run) {
            for (std::uint64_t id; (id = cursor[run].peek(ids, run)) < last; cursor[run].pop()) {
              writer.append(run, {bytes + (layout.offset_of(id) - base), row_bytes_}).or_throw();
            }
          }
          return true;
        } catch (const Error& error) {
          problem = error;
          return false;
        }
      });
  auto read = reader->read(source);
  scan_stats_ = reader->stats();
  if (problem) throw *std::move(problem);
  std::move(read).or_throw();
  writer.finish().or_throw();
  writes_ = writer.writes();
}

Result<void> PackedRows::read(std::size_t run,
                              std::span<const WantedRow> wanted,
                              std::span<std::byte> out) {
  if (run != next_run_ || wanted.size() != sizes_[run]) {
    return Error(ErrorCode::kInternal,
                 fmt::format("{} rows of run {} are asked for; the next is run {} with {}",
                             wanted.size(),
                             run,
                             next_run_,
                             next_run_ < sizes_.size() ? sizes_[next_run_] : 0));
  }
  ++next_run_;
  RowCopy rows(out.data(), row_bytes_);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (i + RowCopy::kAhead < wanted.size()) rows.expect(wanted[i + RowCopy::kAhead].place);
    if (here_.size() >= row_bytes_) {
      rows.copy(wanted[i].place, here_.data());
      here_ = here_.subspan(row_bytes_);
      continue;
    }
    auto copied = copy_next({out.data() + wanted[i].place * row_bytes_, row_bytes_});
    if (!copied) return copied;
  }
  const std::uint64_t bytes = begins_[run + 1] - begins_[run];
  bytes_read_ += bytes;
  return skip(bytes - wanted.size() * row_bytes_);  // the rest of its last page
}

// The next bytes of the runs; a row may lie across two requests.
Result<void> PackedRows::copy_next(std::span<std::byte> to) {
  while (!to.empty()) {
    if (here_.empty()) {
      if (auto more = read_on(); !more) return more;
    }
    const std::size_t part = std::min(to.size(), here_.size());
    std::memcpy(to.data(), here_.data(), part);
    here_ = here_.subspan(part);
    to = to.subspan(part);
  }
  return {};
}

Result<void> PackedRows::skip(std::uint64_t bytes) {
  while (bytes != 0) {
    if (here_.empty()) {
      if (auto more = read_on(); !more) return more;
    }
    const std::size_t part = std::min<std::uint64_t>(bytes, here_.size());
    here_ = here_.subspan(part);
    bytes -= part;
  }
  return {};
}

Result<void> PackedRows::read_on() {
  if (!ahead_) {
    if (auto begun = begin_reading(nullptr); !begun) return begun;
  }
  auto next = ahead_->next();
  if (!next) return std::move(next).error();
  here_ = next.value();
  if (here_.empty()) return Error(ErrorCode::kInternal, "the runs of repacked rows end too early");
  return {};
}

}  // namespace sluice
